package cli

import (
	"context"
	"errors"
	"fmt"

	"pdlt.dev/pdlt/confine"
)

// statusOf gives the exit status that says how a program ended. An interrupt of ours comes first: whoever sent it waits for that answer.
func statusOf(ctx context.Context, o confine.Outcome) int {
	var sig interrupted
	switch {
	case errors.As(context.Cause(ctx), &sig):
		return sig.status()
	case o.Stopped == confine.StoppedWall:
		return exitWall
	case o.Stopped == confine.StoppedSteps:
		return exitSteps
	case o.Stopped == confine.StoppedCPU:
		return exitCPU
	case o.Stopped == confine.StoppedMemory:
		return exitMemory
	case o.Stopped == confine.StoppedLost:
		return exitFault
	case o.ExitCode != nil:
		return *o.ExitCode
	case o.Signal != nil:
		return exitSignal + *o.Signal
	}
	return exitFault // cannot happen: a program ends by exiting or by a signal
}

// ending says what ended a program that did not end by itself, in one line; "" when it did.
func ending(ctx context.Context, o confine.Outcome, l confine.Limits) string {
	switch o.Stopped {
	case confine.StoppedNone:
		return ""
	case confine.StoppedWall:
		return "stopped by the wall clock" + measure(o, " ms")
	case confine.StoppedCPU:
		return "stopped by the limit of processor time" + measure(o, " ms")
	case confine.StoppedMemory:
		return "stopped by the memory limit" + measure(o, " bytes")
	case confine.StoppedPids:
		return "stopped by the limit of processes and threads" + measure(o, "")
	case confine.StoppedDisk:
		unit := " bytes"
		if o.Limit != nil && *o.Limit == l.Inodes {
			unit = " inodes"
		}
		return "stopped by the disk limit" + measure(o, unit)
	case confine.StoppedOutput:
		return "stopped by the output limit" + measure(o, " bytes of one stream")
	case confine.StoppedSteps:
		return "stopped by the step budget" + measure(o, " steps")
	case confine.StoppedSignal:
		if o.Signal == nil {
			return "ended by a signal"
		}
		return fmt.Sprintf("ended by signal %d", *o.Signal)
	case confine.StoppedDenied:
		if o.Tamper != nil {
			return "stopped for tampering with the step counter: " + *o.Tamper
		}
		return "ended by a refusal of the policy"
	case confine.StoppedCancelled:
		if cause := context.Cause(ctx); cause != nil {
			return cause.Error()
		}
		return "cancelled"
	case confine.StoppedLost:
		return "lost: the confinement died under the program, and nothing else is known of it"
	}
	return "stopped: " + string(o.Stopped)
}

func measure(o confine.Outcome, unit string) string {
	if o.Limit == nil || o.Observed == nil {
		return ""
	}
	return fmt.Sprintf(": limit %d%s, observed %d%s", *o.Limit, unit, *o.Observed, unit)
}
