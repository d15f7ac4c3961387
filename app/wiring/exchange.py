"""Models that change while the line runs: loaded beside those that run, checked, and taken back if they do worse."""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from app.config import LoadedConfig, sections
from app.config.engine import BuiltEngine
from app.engine import hand_over, take_over
from app.errors import TaktsightError
from app.golden import check_golden
from app.inspector import Inspector
from app.preprocess.helpers import Helpers
from app.probation import REMEMBERED, Recent, worse
from app.steady.huge_pages import FULL, use_huge_pages
from app.verdict import Outcome
from app.wiring.fused import expected_of, formats_of
from app.wiring.models import WiredModel, build_model

logger = logging.getLogger(__name__)

OF_CAMERA = "@"
"""Between a model's name and a camera's in the key of a model that one camera alone looks with."""

Aside: TypeAlias = Callable[[Callable[[], WiredModel]], WiredModel]
"""Has a model loaded on a thread of its own, and waits for it."""


class Exchange:
    """Loads models while the line runs, and lets them go.

    A model is loaded, warmed up and checked on a thread of its own, beside the one that runs. Between two frames the
    inspect thread takes it over: one on a GPU belongs to one thread at a time.

    Args:
        inspector: owns the engines.
        models: those that run, by key; changed here.
        event: takes camera, kind, text and data; must not wait.
        aside: returns what a call gives that takes long.
        helpers: of the inspect thread.
    """

    def __init__(
        self,
        inspector: Inspector,
        models: dict[str, WiredModel],
        event: Callable[..., None],
        aside: Aside,
        helpers: Helpers,
    ) -> None:
        self._inspector = inspector
        self._models = models
        self._event = event
        self._aside = aside
        self._helpers = helpers
        self._sections: dict[str, sections.Model] = {}
        self._retired: list[tuple[str, sections.Model, WiredModel]] = []

    def begin(self, loaded: LoadedConfig) -> None:
        """Note by what the models were made that run."""
        self._sections = dict(loaded.config.models)

    def load(self, names: Iterable[str], loaded: LoadedConfig) -> dict[str, WiredModel]:
        """Return models that are entered, warm and checked, and belong to the inspect thread; nothing uses them yet.

        Raises:
            ModelError: one can't be used, or does not find what its golden set says; none of them is kept.
            TaktsightError: the inspection hangs, or the service stops.
        """
        models: dict[str, WiredModel] = {}
        with ExitStack() as undo:
            for name in names:
                models[name] = self._still_warm(name, loaded) or self._loaded(name, loaded, undo)
            undo.pop_all()
        return models

    def _still_warm(self, name: str, loaded: LoadedConfig) -> WiredModel | None:
        """Return a model that was in use and is wanted back, if it is there."""
        wanted = (name, loaded.config.models[name])
        return next((model for known, section, model in self._retired if (known, section) == wanted), None)

    def _loaded(self, name: str, loaded: LoadedConfig, undo: ExitStack) -> WiredModel:
        model = self._aside(lambda: self._enter(name, loaded))
        backend = model.engine.backend
        try:
            self._inspector.between_frames(lambda: self._receive(backend))
        except TaktsightError:
            take_over(backend)  # nobody has it: it is left here
            backend.__exit__(None, None, None)
            raise
        undo.callback(self._let_go, [model])
        return model

    def _receive(self, backend: AbstractContextManager[Any]) -> None:
        take_over(backend)
        self._inspector.hold(backend)

    def _enter(self, name: str, loaded: LoadedConfig) -> WiredModel:
        """Load a model on this thread, check it, and hand it over."""
        section = loaded.config.models[name]
        expected = expected_of(loaded.config.cameras, name)
        running = self._models.get(name) or self._models.get(name.partition(OF_CAMERA)[0])
        formats = (*expected.formats, *(() if running is None else formats_of(running.engine)))
        expected = replace(expected, formats=tuple(dict.fromkeys(formats)))
        tell = partial(self._event, "", "engine", model=name)
        model = build_model(name, section, expected, tell, self._helpers)
        with ExitStack() as undo:
            undo.push(model.engine.backend.__exit__)
            model.engine.backend.__enter__()
            said = check_golden(Path(section.path), model.engine, model.names, section.verify)
            if loaded.config.process.huge_pages:
                use_huge_pages(least_full=FULL)
            hand_over(model.engine.backend)
            undo.pop_all()
        logger.info("models.%s: loaded: %s", name, said)
        self._event("", "model", f"{name} is loaded: {said}", model=model.sha256[:12])
        return model

    def adopt(self, fresh: dict[str, WiredModel], loaded: LoadedConfig) -> None:
        """Have models used from now on; those in whose place they come stay warm until `release`."""
        for name, model in fresh.items():
            before = self._models.get(name)
            if before is not None:
                self._retired.append((name, self._sections[name], before))
            self._retired = [entry for entry in self._retired if entry[2] is not model]
            self._models[name] = model
        self._sections |= loaded.config.models

    def restore(self, before: dict[str, WiredModel], loaded: LoadedConfig) -> None:
        """Go back to what was used before `adopt`, since the rest of a change can't be done."""
        fresh = [model for name, model in self._models.items() if before.get(name) is not model]
        self._models.clear()
        self._models.update(before)
        self._sections = dict(loaded.config.models)
        self._retired = [entry for entry in self._retired if entry[2] not in before.values()]
        self._let_go(fresh)

    def release(self, used: Iterable[str]) -> None:
        """Free what nobody uses any more: the models in whose place others came, and those without a camera."""
        gone = [model for _, _, model in self._retired]
        gone += [self._models.pop(name) for name in list(self._models) if name not in set(used)]
        self._retired.clear()
        self._let_go(gone)

    def _let_go(self, models: list[WiredModel]) -> None:
        for model in models:
            backend = model.engine.backend
            self._inspector.between_frames(partial(self._inspector.release, backend))


class Probation:
    """Watches the cameras whose model was exchanged.

    Args:
        ask: has something done on the thread that runs the service.
    """

    def __init__(self, ask: Callable[[Callable[[], None]], None]) -> None:
        self._ask = ask
        self._lock = Lock()
        self._recent: defaultdict[str, Recent] = defaultdict(Recent)
        self._before: dict[str, Recent] = {}
        self._left = 0
        self._on_end: Callable[[str | None], None] = lambda _: None

    def judged(self, outcome: Outcome) -> None:
        """Take a verdict; cheap, on the path of a frame."""
        with self._lock:
            if not self._recent[outcome.camera].take(outcome) or outcome.camera not in self._before:
                return
            self._left -= 1
            why = worse(self._before[outcome.camera], self._recent[outcome.camera])
            if why is None and self._left > 0:
                return
            self._before.clear()
            on_end = self._on_end
        found = None if why is None else f"{outcome.camera}: {why}"
        self._ask(lambda: on_end(found))

    def watch(self, cameras: Iterable[str], on_end: Callable[[str | None], None]) -> None:
        """Watch cameras from now on.

        Args:
            cameras: whose model is another one now.
            on_end: called on the service's thread, with what has got worse, or None when nothing has.
        """
        with self._lock:
            self._before = {camera: self._recent.pop(camera, Recent()) for camera in cameras}
            self._left = REMEMBERED * len(self._before)
            self._on_end = on_end


def with_model(loaded: LoadedConfig, camera: str, path: Path) -> LoadedConfig:
    """Return a configuration in which a camera looks with another file, and another hash.

    The file takes the place of the camera's model in a section of its own, so that other cameras keep theirs.
    """
    config = loaded.config
    section = config.cameras[camera]
    key = f"{section.model.partition(OF_CAMERA)[0]}{OF_CAMERA}{camera}"
    update = {"path": str(path), "sha256": None, "engine": BuiltEngine()}
    models = {**config.models, key: config.models[section.model].model_copy(update=update)}
    cameras = {**config.cameras, camera: section.model_copy(update={"model": key})}
    sha256 = hashlib.sha256(f"{loaded.sha256} {camera} {path}".encode()).hexdigest()
    return replace(loaded, config=config.model_copy(update={"models": models, "cameras": cameras}), sha256=sha256)
