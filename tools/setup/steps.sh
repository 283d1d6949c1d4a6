# shellcheck shell=bash
# Long steps with little noise: a bar while one runs on a terminal, a line when it is done, the log when it fails.
# Sourced by setup.sh.

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# How far a step is, as "done total": from the last "[12/340]" in its log (ninja), else from the time it usually takes.
step_progress() {
  local log=$1 elapsed=$2 usual=$3 last
  last=$(tail -c 2000 "$log" | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -n 1 | tr -d '[]') || true
  if [[ -n $last ]]; then
    echo "${last%/*} ${last#*/}"
  else
    echo "$((elapsed < usual ? elapsed : usual)) $((usual + 1))"
  fi
}

draw_step() {
  local title=$1 elapsed=$2 done=$3 total=$4 width=30 bar rest
  local filled=$((width * done / total))
  printf -v bar '%*s' "$filled" ''
  printf -v rest '%*s' "$((width - filled))" ''
  printf '\r\033[K%s%s %s: %d s' "${bar// /#}" "${rest// /.}" "$title" "$elapsed" >&2
}

# attempt TITLE USUAL_SECONDS LOG COMMAND...: runs the command with its output in build/logs/LOG.log; gives its status.
attempt() {
  local title=$1 usual=$2 log=$ROOT/build/logs/$3.log start=$SECONDS status=0
  shift 3
  mkdir -p "$ROOT/build/logs"
  set -m # the command gets a process group of its own, which Ctrl-C can end as a whole
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  set +m
  trap 'kill -- -'"$pid"' 2>/dev/null; say; exit 130' INT TERM
  if [[ -t 2 ]]; then
    while kill -0 "$pid" 2>/dev/null; do
      # shellcheck disable=SC2046  # two numbers
      draw_step "$title" "$((SECONDS - start))" $(step_progress "$log" "$((SECONDS - start))" "$usual")
      sleep 0.3
    done
    printf '\r\033[K' >&2
  fi
  wait "$pid" || status=$?
  trap - INT TERM
  # What was done already is not worth a line.
  if ((status == 0 && SECONDS - start > 1)); then say "$title: $((SECONDS - start)) s"; fi
  return "$status"
}

# step: the same, but a failure shows the end of the log and ends the script.
step() {
  attempt "$@" && return
  tail -n 40 "$ROOT/build/logs/$3.log" >&2
  die "\"$1\" fails; build/logs/$3.log has all of its output."
}

# Stamps say that a step was done with these inputs, so that it is not done again.
stamp_is() { [[ -f $ROOT/build/stamps/$1 && $(<"$ROOT/build/stamps/$1") == "$2" ]]; }
write_stamp() {
  mkdir -p "$ROOT/build/stamps"
  echo "$2" >"$ROOT/build/stamps/$1"
}
hash_of() { sha256sum "$@" | sha256sum | cut -c -64; }
