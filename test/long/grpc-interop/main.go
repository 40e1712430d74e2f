// Runs the public interop cases of gRPC: https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md
//
//	grpc-interop server          listens on a free port of 127.0.0.1, which it prints
//	grpc-interop client PORT CA  reads the names of cases, one a line, and prints "ok NAME" behind each that passed; over TLS
//	                             unless CA is empty, the file of a certificate to trust
//	grpc-interop stream PORT N   sends N messages of one byte in one call, and prints how many bytes the server counted
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "server":
		serve()
	case len(os.Args) == 4 && os.Args[1] == "client":
		call(os.Args[2], os.Args[3])
	case len(os.Args) == 4 && os.Args[1] == "stream":
		stream(os.Args[2], os.Args[3])
	default:
		fail("grpc-interop server | grpc-interop client PORT CA | grpc-interop stream PORT N")
	}
}

func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	// One case of other clients sends a message of 10 MB.
	server := grpc.NewServer(grpc.MaxRecvMsgSize(1 << 24))
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != nil {
		fail(err)
	}
}

func connect(port string, authority string) *grpc.ClientConn {
	security := insecure.NewCredentials()
	if authority != "" {
		trusting, err := credentials.NewClientTLSFromFile(authority, "")
		if err != nil {
			fail(err)
		}
		security = trusting
	}
	connection, err := grpc.NewClient("127.0.0.1:"+port, grpc.WithTransportCredentials(security))
	if err != nil {
		fail(err)
	}
	return connection
}

// Each message has a DATA frame of its own, however fast they follow each other.
func stream(port string, count string) {
	messages, err := strconv.Atoi(count)
	if err != nil {
		fail(err)
	}
	call, err := testgrpc.NewTestServiceClient(connect(port, "")).StreamingInputCall(context.Background())
	if err != nil {
		fail(err)
	}
	message := &testgrpc.StreamingInputCallRequest{Payload: &testgrpc.Payload{Body: []byte{'x'}}}
	for range messages {
		// The reason is what CloseAndRecv returns.
		if call.Send(message) != nil {
			break
		}
	}
	response, err := call.CloseAndRecv()
	if err != nil {
		fail(err)
	}
	fmt.Println(response.GetAggregatedPayloadSize())
}

func call(port string, authority string) {
	connection := connect(port, authority)
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
