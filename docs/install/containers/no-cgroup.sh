#!/bin/sh
# no-cgroup.sh ENGINE IMAGE [COMMAND ARG…]  runs pdlt in a container of docker or podman, on the rung "no-cgroup": memory is limited by address space, CPU
# time and processes by rlimits. The image has pdlt in /usr/local/bin, and its pack beside it. Without a command it runs the doctor.
here=$(cd "$(dirname "$0")" && pwd)
engine=$1 image=$2
shift 2
exec "$engine" run --rm -i --user 65534:65534 --cap-drop ALL --security-opt no-new-privileges --read-only --tmpfs /tmp --env HOME=/tmp --network none \
	--security-opt seccomp="$here/seccomp.json" --security-opt apparmor=unconfined --security-opt systempaths=unconfined \
	--entrypoint /usr/local/bin/pdlt "$image" "${@:-doctor}"
