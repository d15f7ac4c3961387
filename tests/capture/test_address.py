"""The address that is opened."""

import pytest

from app.capture.address import with_credentials


@pytest.mark.parametrize(
    ("url", "username", "password", "expected"),
    [
        ("rtsp://cam/line", None, None, "rtsp://cam/line"),
        ("rtsp://cam:554/line?a=1", "me", "Geh3im!x", "rtsp://me:Geh3im%21x@cam:554/line?a=1"),
        ("rtsp://cam/line", "me", None, "rtsp://me@cam/line"),
        ("rtsp://old:one@cam/line", "me", "p", "rtsp://me:p@cam/line"),  # what is configured wins
        ("http://[::1]:8080/x", "a@b", "c:/d", "http://a%40b:c%3A%2Fd@[::1]:8080/x"),
    ],
)
def test_the_login_is_put_into_the_address_encoded(url, username, password, expected):
    assert with_credentials(url, username, password) == expected
