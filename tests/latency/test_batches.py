"""How full batches are."""

from app.latency.batches import Batches


def test_a_stretch_tells_pictures_against_places_by_model_and_the_next_one_begins_anew():
    batches = Batches()
    for pictures in (4, 3, 1):
        batches.add("covers", pictures, 4)
    batches.add("ocr", 1, 1)
    assert batches.percent == {}
    batches.turn()
    assert {model: round(percent, 1) for model, percent in batches.percent.items()} == {"covers": 66.7, "ocr": 100}
    batches.add("covers", 1, 4)
    batches.turn()
    assert batches.percent == {"covers": 25}
