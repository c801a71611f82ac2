/* stage.c: the launcher inside the Go binary. A constructor takes the process over before the Go runtime starts,
 * when Go started it under this name; otherwise it does nothing. */
#define _GNU_SOURCE
#include "cell.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void stage(int argc, char **argv)
{
	if (argc != 1 || strcmp(argv[0], CELL_STAGE) != 0)
		return;
	const struct cell_config *cfg = cell_map(CELL_FD_CONFIG);
	if (!cfg) {
		cell_fail_control(CELL_FD_CONTROL, "map configuration", errno);
		_exit(70);
	}
	/* Go passes two descriptors or three; a program that uses the library may have opened others without close-on-exec. */
	close_range(cfg->nblocks ? CELL_FD_TEXT + 1 : CELL_FD_TEXT, ~0U, 0);
	const char *step = cell_template(cfg);
	if (step) {
		cell_fail_control(CELL_FD_CONTROL, step, errno);
		_exit(70);
	}
	if (cfg->flags & CELL_ZYGOTE) {
		char *args[] = { "python3", NULL };
		/* Resolved now, once, and not in every fork. */
		char *env[] = { "LD_PRELOAD=" CELL_SO, "PDLT_CELL=zygote", "LD_BIND_NOW=1", NULL };
		execve(cell_str(cfg, cfg->interpreter), args, env);
		cell_fail_control(CELL_FD_CONTROL, "start interpreter", errno);
		_exit(70);
	}
	cell_serve(cfg, CELL_FD_CONTROL, cfg->flags & CELL_PYTHON ? cell_enter_python : cell_enter_command);
}
