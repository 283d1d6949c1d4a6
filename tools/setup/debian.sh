# shellcheck shell=bash
# Debian packages, unattended. Sourced by setup.sh.

export DEBIAN_FRONTEND=noninteractive

# sudo asks for its password here, in the foreground, and not in the middle of a step.
need_root() {
  [[ $(id -u) == 0 ]] && return
  command -v sudo >/dev/null || die "Packages are missing; run this as root or install sudo."
  sudo -v || die "Packages are missing and sudo is refused."
}

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo --preserve-env=DEBIAN_FRONTEND "$@"; fi
}

is_installed() { [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

update_and_install() {
  as_root apt-get update && as_root apt-get install --yes --no-install-recommends "$@"
}

# install_packages WHAT PACKAGE...: those that are missing.
install_packages() {
  local what=$1 package missing=()
  shift
  for package in "$@"; do is_installed "$package" || missing+=("$package"); done
  if ((${#missing[@]} == 0)); then return; fi
  command -v apt-get >/dev/null || die "Install these by hand (there is no apt-get here): ${missing[*]}"
  need_root
  step "Installing $what" 60 packages update_and_install "${missing[@]}"
}

# ---- lavapipe ----

BACKPORTS=/etc/apt/sources.list.d/sconce-backports

# Mesa 22 of plain Debian 12 is too old for Dawn; later releases have what it takes.
mesa_is_new() {
  local candidate
  candidate=$(apt-cache policy mesa-vulkan-drivers | awk '/Candidate:/ { print $2 }')
  dpkg --compare-versions "$candidate" ge 25
}

# The first source of this release among the machine's own, with its suite replaced: the same mirror and keys.
write_backports_source() {
  local suite=$1 stanza line
  stanza=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk -v suite="$suite" '
    BEGIN { RS = ""; FS = "\n" }
    {
      for (i = 1; i <= NF; ++i) if ($i ~ "^Suites:(.* )?" suite "( |$)") {
        $i = "Suites: " suite "-backports"
        for (j = 1; j <= NF; ++j) if ($j !~ "^#") print $j
        exit
      }
    }')
  if [[ -n $stanza ]]; then
    echo "$stanza" | as_root tee "$BACKPORTS.sources"
    return
  fi
  line=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -nE "s/^(deb .*) $suite( .*)\$/\1 $suite-backports\2/p" | head -n 1)
  [[ -n $line ]] && echo "$line" | as_root tee "$BACKPORTS.list"
}

install_lavapipe() {
  local suite
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  as_root apt-get update
  if mesa_is_new; then
    as_root apt-get install --yes --no-install-recommends mesa-vulkan-drivers libvulkan1
    return
  fi
  if ! apt-cache policy | grep -q "n=$suite-backports"; then
    write_backports_source "$suite"
    # A mirror without backports must not leave apt broken.
    as_root apt-get update || { as_root rm -f "$BACKPORTS".*; return 1; }
  fi
  as_root apt-get install --yes --no-install-recommends -t "$suite-backports" mesa-vulkan-drivers libvulkan1
}
