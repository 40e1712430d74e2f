// Runs the public interop cases of gRPC: https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md
//
//	grpc-interop server          listens on a free port of 127.0.0.1, which it prints
//	grpc-interop client PORT     reads the names of cases, one a line, and prints "ok NAME" behind each that passed
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "server":
		serve()
	case len(os.Args) == 3 && os.Args[1] == "client":
		call(os.Args[2])
	default:
		fail("grpc-interop server | grpc-interop client PORT")
	}
}

func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	server := grpc.NewServer()
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != nil {
		fail(err)
	}
}

func call(port string) {
	connection, err := grpc.NewClient("127.0.0.1:"+port, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fail(err)
	}
	tests := testgrpc.NewTestServiceClient(connection)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		run(lines.Text(), connection, tests)
		fmt.Println("ok", lines.Text())
	}
}

// A case that fails ends the process: so do those of the library.
func run(name string, connection *grpc.ClientConn, tests testgrpc.TestServiceClient) {
	ctx := context.Background()
	switch name {
	case "empty_unary":
		interop.DoEmptyUnaryCall(ctx, tests)
	case "large_unary":
		interop.DoLargeUnaryCall(ctx, tests)
	case "client_streaming":
		interop.DoClientStreaming(ctx, tests)
	case "server_streaming":
		interop.DoServerStreaming(ctx, tests)
	case "ping_pong":
		interop.DoPingPong(ctx, tests)
	case "empty_stream":
		interop.DoEmptyStream(ctx, tests)
	case "timeout_on_sleeping_server":
		interop.DoTimeoutOnSleepingServer(ctx, tests)
	case "cancel_after_begin":
		interop.DoCancelAfterBegin(ctx, tests)
	case "cancel_after_first_response":
		interop.DoCancelAfterFirstResponse(ctx, tests)
	case "status_code_and_message":
		interop.DoStatusCodeAndMessage(ctx, tests)
	case "special_status_message":
		interop.DoSpecialStatusMessage(ctx, tests)
	case "custom_metadata":
		interop.DoCustomMetadata(ctx, tests)
	case "unimplemented_method":
		interop.DoUnimplementedMethod(ctx, connection)
	case "unimplemented_service":
		interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(connection))
	default:
		fail("no such case: " + name)
	}
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
