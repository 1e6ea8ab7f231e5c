# Makes .venv and installs into it what is not there yet.
#
# Sourced by quickstart.sh and tests/run.sh. Sets ROOT, the directory of the
# repository, and PYTHON, the interpreter of its .venv.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"
PYTHON="$VENV/bin/python"

_fail() {
  echo "error: $*" >&2
  exit 1
}

# Prints the version of an interpreter, such as 3.11; nothing if it is none.
_version() {
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null ||
    true
}

# Prints the first Python 3.11 there is.
_find_python() {
  local name version found=''
  for name in python3.11 python3 python; do
    version="$(_version "$name")"
    if [ "$version" = 3.11 ]; then
      command -v "$name"
      return
    fi
    [ -z "$version" ] || found="${found:+$found, }$name is $version"
  done
  _fail "Python 3.11 is needed; found: ${found:-no Python}"
}

_make_venv() {
  local python
  python="$(_find_python)" || exit 1
  "$python" -m venv --clear "$VENV" >/dev/null 2>&1 || _fail \
    "$python cannot make $VENV (on Debian and Ubuntu: apt install" \
    "python3.11-venv)"
}

# Prints what an installed requirements file is known by; an editable install
# also depends on where it is.
_checksum() {
  { echo "$ROOT"; cat "$ROOT/pyproject.toml" "$ROOT/$1"; } | cksum
}

# The name of the file that holds the checksum of a finished install.
_stamp() {
  echo "$VENV/installed-$(echo "$1" | tr / -)"
}

_is_installed() {
  local file
  for file in "$@"; do
    [ "$(cat "$(_stamp "$file")" 2>/dev/null)" = "$(_checksum "$file")" ] ||
      return 1
  done
}

# Prints how much an install downloads and takes, as measured.
_size() {
  case "$*" in
    *tests/*) echo '1 GB to download, 3.1 GB on the disk' ;;
    *) echo '0.8 GB to download, 2.6 GB on the disk' ;;
  esac
}

_install() {
  local file output arguments=()
  for file in "$@"; do
    arguments+=(-r "$file")
  done
  echo "Installing $* into .venv, once:" \
    "TensorFlow, TF-Agents, Reverb, MuJoCo and others," >&2
  echo "$(_size "$@"), some minutes by your network" >&2
  # Stays behind if the install does not end: pip may have left a package half
  # there, and would not look again.
  touch "$VENV/installing"
  # '-e .' in a requirements file means the current directory.
  output="$(cd "$ROOT" && "$PYTHON" -m pip install --quiet --no-input \
    --disable-pip-version-check "${arguments[@]}" 2>&1)" || {
    echo "$output" >&2
    _fail "pip could not install $*; the lines above say why"
  }
  for file in "$@"; do
    _checksum "$file" >"$(_stamp "$file")"
  done
  rm "$VENV/installing"
}

# Args: requirements files, relative to ROOT.
setup_venv() {
  exec 9<"$ROOT/binaries/setup_venv.sh"
  # Two set-ups at once would spoil each other's work.
  if command -v flock >/dev/null; then
    flock 9
  fi
  local version
  version="$(_version "$PYTHON")"
  if [ -n "$version" ] && [ "$version" != 3.11 ]; then
    _fail "$VENV holds Python $version, not 3.11; remove it or move it away"
  fi
  if [ -z "$version" ] || [ -e "$VENV/installing" ] ||
    ! [ -d "$VENV"/lib/python3.11/site-packages/pip ]; then
    _make_venv
  fi
  _is_installed "$@" || _install "$@"
  exec 9<&-
}
