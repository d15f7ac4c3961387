# Sourced by the scripts beside it: find a Python, make a virtual environment, install system packages.

# The first Python of at least 3.10 on the PATH.
find_python() {
  local name
  for name in python3 python3.12 python3.11 python3.10; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  echo "No Python 3.10 or newer on the PATH: install python3 and python3-venv." >&2
  return 1
}

# One Python of each of 3.10, 3.11 and 3.12, from the PATH or from pyenv.
find_all_pythons() {
  local minor candidate
  for minor in 3.10 3.11 3.12; do
    for candidate in "$(command -v "python$minor" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$minor".*/bin/python; do
      if [ -x "$candidate" ] && "$candidate" -c 'import sys' 2>/dev/null; then
        echo "$candidate"
        break
      fi
    done
  done
}

# make_venv PYTHON FOLDER EXTRAS: made once, and again only when pyproject.toml or the extras changed.
make_venv() {
  local stamp="$2/.taktsight-$3"
  [ -x "$2/bin/python" ] || "$1" -m venv "$2" || {
    echo "'$1 -m venv' failed: install python3-venv (apt-get install python3-venv)." >&2
    return 1
  }
  if [ ! -e "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    "$2/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade pip
    "$2/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$3]"
    touch "$stamp"
  fi
}

# install_system_packages NAME…: those that are missing; as root only.
install_system_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ "${#missing[@]}" -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    echo "Missing for the tests: ${missing[*]}. Run: sudo apt-get install ${missing[*]}" >&2
    return 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # The tests start brokers of their own: a packaged one must not take the port.
  apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
  if [ -d /run/systemd/system ]; then systemctl disable --now mosquitto >/dev/null 2>&1 || true; fi
}
