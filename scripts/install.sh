#!/usr/bin/env bash
# Install Taktsight as a systemd service, upgrade it, or take it off again. Run as root; safe to run twice.
#
#   sudo scripts/install.sh --config LINE.yaml    install, and run that line; a configuration that is there already stays
#   sudo scripts/install.sh --upgrade             install this version beside the old one; back to the old one if it won't run
#   sudo scripts/install.sh --rollback            back to the version before
#   sudo scripts/install.sh --uninstall           take it off; configuration and results stay
#   sudo scripts/install.sh --uninstall --purge   leave nothing
#
#   --wheelhouse FOLDER   no network: everything comes from there; see scripts/make-wheelhouse
#   --extra cpu|gpu|none  which ONNX Runtime; none: that of the system. Also a list, on a Jetson cpu,jetson. Default: as
#                         the version before was installed; at first none on a Jetson, else cpu
#   --line NAME           one of several lines: /etc/taktsight/NAME.yaml run by taktsight@NAME
#   --with-mosquitto      also install the broker mosquitto (Debian and Ubuntu)
#
# What goes where: programs /opt/taktsight, configuration /etc/taktsight, state /var/lib/taktsight, cache /var/cache/taktsight.
set -euo pipefail

OPT=/opt/taktsight
ETC=/etc/taktsight
UNITS=/etc/systemd/system
TMPFILES=/usr/lib/tmpfiles.d/taktsight.conf
UDEV=/etc/udev/rules.d/60-taktsight-cameras.rules
COMMAND=/usr/local/bin/taktsight
# Only a Jetson has this file.
TEGRA=/etc/nv_tegra_release
# The service loads its engines before it is ready; the unit's own limit comes first.
READY_S=200

main() {
  local action=install config="" wheelhouse="" extra="" line="" mosquitto=no purge=no
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --config) config="$(realpath "${2:?--config needs a file}")"; shift 2 ;;
      --wheelhouse) wheelhouse="$(realpath "${2:?--wheelhouse needs a folder}")"; shift 2 ;;
      --extra) extra="${2:?--extra needs cpu, gpu or none}"; shift 2 ;;
      --line) line="${2:?--line needs a name}"; shift 2 ;;
      --with-mosquitto) mosquitto=yes; shift ;;
      --upgrade | --rollback | --uninstall) action="${1#--}"; shift ;;
      --purge) purge=yes; shift ;;
      -h | --help) sed -n '2,/^set -/{/^#/s/^# \?//p}' "$0"; return ;;
      *) fail "there is no option $1; see $0 --help" ;;
    esac
  done
  [ "$(id -u)" -eq 0 ] || fail "must be run as root: sudo $0 …"
  cd "$(dirname "$(realpath "$0")")/.."
  case "$action" in
    install) install_all "$config" "$wheelhouse" "$extra" "$line" "$mosquitto" ;;
    upgrade) upgrade "$wheelhouse" "$extra" ;;
    rollback) rollback ;;
    uninstall) uninstall "$purge" ;;
  esac
}

fail() {
  echo "install: $1" >&2
  exit 1
}

say() { echo "== $1"; }

# ── the steps ───────────────────────────────────────────────────────────────────────────────────────────────────────────

install_all() {
  local config="$1" wheelhouse="$2" extra="$3" name="${4:-taktsight}" unit=taktsight.service
  [ -z "$4" ] || unit="taktsight@$4.service"
  [ -z "$config" ] || [ -f "$config" ] || fail "$config: no such configuration"
  [ "$5" = no ] || install_mosquitto
  make_user
  place_files
  place_config "$config" "$name"
  use_release "$(make_release "$wheelhouse" "$extra")"
  if [ ! -e "$ETC/$name.yaml" ]; then
    say "No configuration yet: write $ETC/$name.yaml (every key stands in $ETC/example.yaml), then run: systemctl enable --now $unit"
    return
  fi
  check_config "$ETC/$name.yaml" || fail "$ETC/$name.yaml can't be run as it is; mend it, then run this again"
  start "$unit" || fail "$unit does not run; see: journalctl -u $unit"
}

upgrade() {
  local before new unit failed=""
  [ -L "$OPT/current" ] || fail "nothing is installed yet; see $0 --help"
  before="$(readlink -f "$OPT/current")"
  place_files
  use_release "$(make_release "$1" "$2")"
  for unit in $(running_units); do
    say "Restarting $unit"
    restart "$unit" || { failed="$unit"; break; }
  done
  [ -z "$failed" ] && return
  say "$failed does not run with the new version: going back to the old one"
  journalctl --unit "$failed" --lines 20 --no-pager --output cat >&2 || true
  new="$(readlink -f "$OPT/current")"
  go_back_to "$before"
  rm -rf "$new"
  fail "upgrade undone: the version before runs again; the lines above say why the new one did not"
}

rollback() {
  local current previous
  current="$(readlink -f "$OPT/current" || true)"
  previous="$(releases | grep -vx "$current" | tail -n 1)"
  [ -n "$previous" ] || fail "there is no version before this one in $OPT/releases"
  go_back_to "$previous"
}

uninstall() {
  local unit
  for unit in $(all_units); do
    systemctl disable --now "$unit" >/dev/null 2>&1 || true
  done
  rm -rf "$OPT" "$COMMAND" "$UNITS/taktsight.service" "$UNITS/taktsight@.service" "$TMPFILES" "$UDEV"
  for unit in taktsight taktsight@; do
    rm -f "$UNITS/$unit.service.d/10-jetson.conf"
    # Drop-ins of yours stay.
    rmdir "$UNITS/$unit.service.d" 2>/dev/null || true
  done
  reload_managers
  systemctl reset-failed 'taktsight*' >/dev/null 2>&1 || true
  if [ "$1" = yes ]; then
    rm -rf "$ETC" /var/lib/taktsight /var/cache/taktsight
    rm -f /etc/credstore/taktsight-*
    getent passwd taktsight >/dev/null && userdel taktsight
    getent group taktsight >/dev/null && groupdel taktsight
    say "Taken off; nothing is left"
  else
    say "Taken off; $ETC and /var/lib/taktsight stay (--purge removes them, too)"
  fi
}

# ── what they are made of ───────────────────────────────────────────────────────────────────────────────────────────────

make_user() {
  local group
  getent group taktsight >/dev/null || groupadd --system taktsight
  getent passwd taktsight >/dev/null ||
    useradd --system --gid taktsight --home-dir /var/lib/taktsight --no-create-home --shell /usr/sbin/nologin taktsight
  # Cameras, the GPU, outputs: by the groups that this system has.
  for group in video render gpio; do
    getent group "$group" >/dev/null && usermod --append --groups "$group" taktsight
  done
  return 0
}

place_files() {
  install -D -m 644 systemd/taktsight.service "$UNITS/taktsight.service"
  install -D -m 644 systemd/taktsight@.service "$UNITS/taktsight@.service"
  if [ -e "$TEGRA" ]; then
    install -D -m 644 systemd/taktsight-jetson.conf "$UNITS/taktsight.service.d/10-jetson.conf"
    install -D -m 644 systemd/taktsight-jetson.conf "$UNITS/taktsight@.service.d/10-jetson.conf"
  fi
  install -D -m 644 systemd/taktsight.tmpfiles "$TMPFILES"
  install -D -m 644 systemd/60-taktsight-cameras.rules "$UDEV"
  install -d -m 750 -o root -g taktsight "$ETC"
  install -d -m 750 -o taktsight -g taktsight /var/lib/taktsight /var/cache/taktsight
  install -m 640 -o root -g taktsight configs/example.yaml configs/taktsight.schema.json "$ETC/"
  reload_managers
}

reload_managers() {
  is_booted && systemctl daemon-reload
  if command -v udevadm >/dev/null; then udevadm control --reload 2>/dev/null || true; fi
  return 0
}

place_config() {
  [ -n "$1" ] || return 0
  if [ ! -e "$ETC/$2.yaml" ]; then
    install -m 640 -o root -g taktsight "$1" "$ETC/$2.yaml"
  elif ! cmp -s "$1" "$ETC/$2.yaml"; then
    say "$ETC/$2.yaml is there already and stays as it is"
  fi
}

# Prints the folder of a new release: a virtual environment with this checkout's version, and the pages that belong to it.
make_release() {
  local wheelhouse="$1" extra="${2:-$(default_extra)}" python options=() source=. release
  # JetPack's TensorRT and GStreamer's bindings are packages of the system's own Python.
  [ ! -e "$TEGRA" ] || options+=(--system-site-packages)
  python="$(system_python)"
  release="$OPT/releases/$(date -u +%Y%m%dT%H%M%SZ)"
  [ ! -e "$release" ] || release="$release-$$"
  say "Installing into $release" >&2
  mkdir -p "$release"
  "$python" -m venv "${options[@]}" "$release" || { rm -rf "$release"; fail "'$python -m venv' failed: install python3-venv"; }
  echo "$extra" >"$release/extra"
  [ "$extra" = none ] && extra="" || extra="[$extra]"
  if [ -n "$wheelhouse" ]; then
    source="$(ls "$wheelhouse"/taktsight-*.whl 2>/dev/null | tail -n 1)"
    [ -n "$source" ] || { rm -rf "$release"; fail "$wheelhouse: no wheel of taktsight in it; see scripts/make-wheelhouse"; }
    options=(--no-index --find-links "$wheelhouse")
  else
    options=()
  fi
  "$release/bin/python" -m pip install --quiet --disable-pip-version-check "${options[@]}" "$source$extra" >&2 ||
    { rm -rf "$release"; fail "the packages can't be installed; pip says why above"; }
  cp -r docs README.md LICENSE "$release/"
  "$release/bin/taktsight" version >&2 || { rm -rf "$release"; fail "the installed command does not start"; }
  echo "$release"
}

# What the version before was installed with: an upgrade must not take a line's ONNX Runtime away.
default_extra() {
  if [ -s "$OPT/current/extra" ]; then
    cat "$OPT/current/extra"
  elif [ -e "$TEGRA" ]; then
    echo none
  else
    echo cpu
  fi
}

# The system's own Python: one of a user's may go away with the user.
system_python() {
  local python=/usr/bin/python3
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    fail "$python is not there or older than 3.10; install python3 and python3-venv"
  echo "$python"
}

use_release() {
  # In one step: a service that is started in this moment finds the old version or the new one.
  ln -sfn "$1" "$OPT/next"
  mv -T "$OPT/next" "$OPT/current"
  ln -sfn "$OPT/current/bin/taktsight" "$COMMAND"
  local release
  for release in $(releases | grep -vx "$1" | head -n -1); do
    rm -rf "$release"
  done
}

releases() { ls -1d "$OPT"/releases/*/ 2>/dev/null | sed 's|/$||' | sort; }

go_back_to() {
  local unit
  say "Using $1"
  ln -sfn "$1" "$OPT/next"
  mv -T "$OPT/next" "$OPT/current"
  for unit in $(running_units); do
    restart "$unit" || fail "$unit does not run with the version before either; see: journalctl -u $unit"
  done
}

check_config() {
  # As the service's own user: a file that root may read may still be closed to it.
  (cd /var/lib/taktsight && runuser -u taktsight -- "$OPT/current/bin/taktsight" check "$1")
}

is_booted() { [ -d /run/systemd/system ]; }

start() {
  is_booted || { say "systemd does not run here: $1 is enabled for the next boot"; systemctl enable "$1"; return; }
  systemctl enable --quiet "$1"
  say "Starting $1"
  restart "$1" && systemctl --no-pager --lines 0 status "$1" | sed -n '1,/Status:/p'
}

restart() {
  systemctl reset-failed "$1" 2>/dev/null || true
  timeout "$READY_S" systemctl restart "$1"
}

# Those that are meant to run: enabled ones, whatever their state now.
running_units() { is_booted && all_units | while read -r unit; do systemctl is-enabled --quiet "$unit" && echo "$unit"; done; }

all_units() {
  { echo taktsight.service; ls "$UNITS"/*.wants/ 2>/dev/null | grep -x 'taktsight@..*\.service' || true; } | sort -u
}

install_mosquitto() {
  command -v apt-get >/dev/null || fail "--with-mosquitto needs apt-get; install a broker by hand"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mosquitto
}

# A test reads the functions only.
[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
