// Serves Dex with its users and clients in memory, at a port of the system's choice, and prints its issuer. Everyone who opens its login
// page is signed in as the user of its mock connector. Argument: the redirect URI of its client `gateway`.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
)

func main() {
	logger := logrus.New()
	logger.Out = io.Discard
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	issuer := "http://" + listener.Addr().String()
	// Its pages are part of the module.
	web, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}/web", "github.com/dexidp/dex").Output()
	check(err)
	store := memory.New(logger)
	check(store.CreateConnector(storage.Connector{ID: "mock", Type: "mockCallback", Name: "Mock"}))
	check(store.CreateClient(storage.Client{ID: "gateway", Secret: "dex-secret", RedirectURIs: []string{os.Args[1]}}))
	check(store.CreateClient(storage.Client{ID: "api", TrustedPeers: []string{"gateway"}}))
	dex, err := server.NewServer(context.Background(), server.Config{
		Issuer:             issuer,
		Storage:            store,
		SkipApprovalScreen: true,
		Logger:             logger,
		PrometheusRegistry: prometheus.NewRegistry(),
		Web:                server.WebConfig{Dir: strings.TrimSpace(string(web))},
	})
	check(err)
	fmt.Println(issuer)
	check(http.Serve(listener, dex))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
