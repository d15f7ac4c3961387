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

# PyCUDA comes as source only, and the tests run it on a driver of their own (tests/gpu/fakecuda.c). It is built once for
# each Python, unoptimised, which takes a minute or two, and kept in the cache folder. The product does not need this wheel: on a
# device PyCUDA is built with that device's CUDA.
PYCUDA_VERSION=2026.1

# install_pycuda VENV: builds the wheel if there is none yet.
install_pycuda() {
  local tag cache
  "$1/bin/python" -c 'import pycuda' 2>/dev/null && return
  tag="$("$1/bin/python" -c 'import platform, sys; print("cp%d%d-%s" % (*sys.version_info[:2], platform.machine()))')"
  cache="${XDG_CACHE_HOME:-$HOME/.cache}/taktsight/pycuda-$PYCUDA_VERSION-$tag"
  [ -n "$(ls "$cache"/*.whl 2>/dev/null)" ] || build_pycuda "$1/bin/python" "$cache"
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check "$cache"/*.whl
}

# build_pycuda PYTHON FOLDER [OPTIMISATION]: in a subshell, so that the working folder and the trap stay there.
build_pycuda() (
  local work pip include
  echo "== Building PyCUDA $PYCUDA_VERSION for the tests, once"
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  "$1" -m venv "$work/venv"
  pip=("$work/venv/bin/python" -m pip --quiet --disable-pip-version-check)
  "${pip[@]}" install "setuptools<81" wheel "numpy>=1.26"
  "${pip[@]}" download --no-deps --no-build-isolation --no-binary pycuda --dest "$work" "pycuda==$PYCUDA_VERSION"
  tar -xf "$work/pycuda-$PYCUDA_VERSION.tar.gz" -C "$work"
  include="$(cuda_headers "$work" "${pip[@]}")"
  mkdir "$work/lib"
  gcc -shared -fPIC -Wl,-soname,libcuda.so.1 tests/gpu/fakecuda.c -ldl -lpthread -o "$work/lib/libcuda.so"
  cat >"$work/pycuda-$PYCUDA_VERSION/siteconf.py" <<EOF
CUDA_ENABLE_CURAND = False
CUDA_INC_DIR = $include
CUDADRV_LIB_DIR = ["$work/lib"]
CUDART_LIB_DIR = ["$work/lib"]
CXXFLAGS = ["${3:--O0}", "-g0", "-w"]
EOF
  "${pip[@]}" wheel --no-deps --no-build-isolation --wheel-dir "$work/wheels" "$work/pycuda-$PYCUDA_VERSION"
  mkdir -p "$2"
  mv -f "$work"/wheels/*.whl "$2/"
)

# cuda_headers WORK PIP…: prints, as a Python list, the folders with CUDA's headers: the toolkit's, or else those of NVIDIA's wheels.
cuda_headers() {
  local folder
  for folder in "${CUDA_HOME:-/usr/local/cuda}"/include /usr/local/cuda*/include /usr/include; do
    if [ -e "$folder/cuda.h" ] && [ -e "$folder/crt/host_defines.h" ]; then
      echo "[\"$folder\"]"
      return
    fi
  done
  "${@:2}" install --target "$1/cuda" --no-deps nvidia-cuda-runtime==13.0.* nvidia-cuda-crt==13.0.*
  echo "[\"$1/cuda/nvidia/cu13/include\"]"
}

# A real Triton server on the CPU, out of a wheel: 450 MB in an environment of its own, because it wants an older NumPy. It is
# installed once (two minutes with a slow network) and kept in the cache folder; it starts in a few seconds.
TRITON_VERSION=0.7.0

# install_triton PYTHON: the environment that tests/triton_rig.py starts the server from.
install_triton() {
  local home
  home="${XDG_CACHE_HOME:-$HOME/.cache}/taktsight/triton-$TRITON_VERSION"
  [ -e "$home/.complete" ] && return
  echo "== Installing a Triton server for the tests, once"
  rm -rf "$home"
  "$1" -m venv "$home"
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check "nvidia-pytriton==$TRITON_VERSION" onnxruntime
  touch "$home/.complete"
}
