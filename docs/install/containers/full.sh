#!/bin/sh
# full.sh ENGINE IMAGE [COMMAND ARG…]  runs pdlt in a container of docker (28 or later) or podman, on the rung "full". It takes control groups v2. They belong
# to the container's root, whose only capability is SETFCAP: the kernel asks for it before root may map itself. The image is as for no-cgroup.sh.
here=$(cd "$(dirname "$0")" && pwd)
engine=$1 image=$2
shift 2
case $engine in
docker) writable="--security-opt writable-cgroups=true" ;;
*) writable= ;; # podman does it for systempaths=unconfined
esac
# shellcheck disable=SC2086 # it is two words or none
exec "$engine" run --rm -i --user 0:0 --cap-drop ALL --cap-add SETFCAP --security-opt no-new-privileges --read-only --tmpfs /tmp --env HOME=/tmp --network none \
	--security-opt seccomp="$here/seccomp.json" --security-opt apparmor=unconfined --security-opt systempaths=unconfined --cgroupns private $writable \
	--volume "$here/../leaf:/usr/local/lib/pdlt/leaf:ro" --entrypoint /usr/local/lib/pdlt/leaf "$image" /usr/local/bin/pdlt "${@:-doctor}"
