// Command victim uses the library as another program would, until somebody kills it: the test beside it does, at moments of its choosing.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"pdlt.dev/pdlt/confine"
	_ "pdlt.dev/pdlt/confine/native"
)

func main() {
	confine.Stage()
	c, err := confine.Open(confine.Auto, confine.Options{Pack: os.Args[1], Start: confine.StartMode(os.Args[2]), Slots: 3})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for i := range 3 {
		source := []string{"print(6*7)", "import time\ntime.sleep(60)", "while True: pass"}[i]
		wg.Go(func() {
			for {
				if _, err := c.Run(context.Background(), confine.Spec{Program: confine.Python([]byte(source))}); err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
}
