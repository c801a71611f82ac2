package confine_test

import (
	"context"
	"fmt"
	"time"

	"pdlt.dev/pdlt/confine"
	_ "pdlt.dev/pdlt/confine/native" // the backend
)

func Example() {
	confine.Stage() // the first call of main
	c, err := confine.Open(confine.Auto, confine.Options{})
	if err != nil {
		fmt.Println(err) // a *confine.Refusal says what is missing and what would do
		return
	}
	defer c.Close()
	r, err := c.Run(context.Background(), confine.Spec{Program: confine.Python([]byte("print(6 * 7)")), Limits: confine.Limits{Wall: 5 * time.Second, Steps: 100_000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(r.Outcome.Stdout.Text, "ended by: ", r.Outcome.Stopped, "\nenforced: ", r.Report.Enforced(), "\n")
}
