// The API server and the controllers of Kubernetes in one program, which is named by its first argument.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

var programs = map[string]func() *cobra.Command{
	"apiserver":          func() *cobra.Command { return apiserver.NewAPIServerCommand() },
	"controller-manager": controllers.NewControllerManagerCommand,
}

func main() {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kubernetes apiserver|controller-manager [flags]")
		os.Exit(2)
	}
	command := programs[os.Args[1]]()
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}
