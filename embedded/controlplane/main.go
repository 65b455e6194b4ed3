// Command controlplane is a whole Kubernetes control plane in one binary: its first argument names the part to be.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var parts = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllers.NewControllerManagerCommand())) },
	"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
	"kubectl":                 runKubectl,
}

func main() {
	if len(os.Args) > 1 {
		if run, ok := parts[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl ...")
	os.Exit(2)
}

func runKubectl() {
	// -v must be known before the command exists: building it already logs.
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
}
