"""`python -m app` is `taktsight`."""

from app.cli import main

main()
