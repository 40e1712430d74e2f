//! Calls a gateway by the crate h2 in cleartext. Behind `HTTP_PORT` every request's body comes back; behind `GRPC_PORT` is a server of
//! gRPC's interop cases. Prints "ok NAME" behind each case that passed; one that fails ends the process.
//!
//!     weir-h2-client HTTP_PORT GRPC_PORT

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Ping, Reason, RecvStream};
use http::{Method, Request, StatusCode};
use std::error::Error;
use tokio::net::TcpStream;

type Failure = Box<dyn Error + Send + Sync>;
type Outcome = Result<(), Failure>;

#[tokio::main]
async fn main() -> Outcome {
    let mut ports = std::env::args().skip(1);
    let http = ports.next().ok_or("no HTTP_PORT")?;
    let grpc = ports.next().ok_or("no GRPC_PORT")?;
    report("streams side by side", side_by_side(&http, Builder::new()).await)?;
    report("small windows", side_by_side(&http, small_windows()).await)?;
    report("frames of a megabyte", side_by_side(&http, large_frames()).await)?;
    report("no table for headers", side_by_side(&http, no_table()).await)?;
    report("large bodies", large_bodies(&http).await)?;
    report("resets", resets(&http).await)?;
    report("pings", pings(&http).await)?;
    report("trailers", trailers(&grpc).await)
}

fn report(name: &str, outcome: Outcome) -> Outcome {
    outcome.map_err(|failure| format!("{name}: {failure}"))?;
    println!("ok {name}");
    Ok(())
}

fn small_windows() -> Builder {
    let mut builder = Builder::new();
    builder.initial_window_size(100).initial_connection_window_size(65_535);
    builder
}

fn large_frames() -> Builder {
    let mut builder = Builder::new();
    builder.max_frame_size(1 << 20).initial_window_size(1 << 24);
    builder
}

fn no_table() -> Builder {
    let mut builder = Builder::new();
    builder.header_table_size(0);
    builder
}

async fn connect(port: &str, mut builder: Builder) -> Result<(SendRequest<Bytes>, Option<h2::PingPong>), Failure> {
    let socket = TcpStream::connect(format!("127.0.0.1:{port}")).await?;
    // As hyper does: h2 itself would open any number of streams before it has the gateway's SETTINGS.
    let (client, mut connection) = builder.initial_max_send_streams(100).handshake(socket).await?;
    let pings = connection.ping_pong();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok((client, pings))
}

/// Sends the body as the windows allow, and returns the status and what comes back.
async fn echo(client: SendRequest<Bytes>, index: usize, body: Bytes) -> Result<(StatusCode, Bytes), Failure> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("http://a.test/{index}"))
        .header("x-number", index.to_string())
        .body(())?;
    let mut client = client.ready().await?;
    let (response, mut stream) = client.send_request(request, false)?;
    let sending = tokio::spawn(async move {
        let mut rest = body;
        while !rest.is_empty() {
            stream.reserve_capacity(rest.len().min(65_536));
            let room = std::future::poll_fn(|context| stream.poll_capacity(context)).await;
            let room = room.ok_or("the stream is gone")??.min(rest.len());
            stream.send_data(rest.split_to(room), false)?;
        }
        stream.send_data(Bytes::new(), true)?;
        Ok::<_, Failure>(())
    });
    let (head, body) = response.await?.into_parts();
    let whole = read(body).await?.0;
    sending.await??;
    Ok((head.status, whole))
}

async fn read(mut body: RecvStream) -> Result<(Bytes, Option<http::HeaderMap>), Failure> {
    let mut whole = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        whole.extend_from_slice(&piece);
    }
    let trailers = body.trailers().await?;
    Ok((whole.into(), trailers))
}

async fn side_by_side(port: &str, builder: Builder) -> Outcome {
    let (client, _) = connect(port, builder).await?;
    let calls: Vec<_> = (0..500)
        .map(|index| tokio::spawn(echo(client.clone(), index, Bytes::from(index.to_string().repeat(200)))))
        .collect();
    for (index, call) in calls.into_iter().enumerate() {
        let (status, body) = call.await??;
        if status != StatusCode::OK || body != index.to_string().repeat(200) {
            return Err(format!("request {index} got {status} and {} bytes", body.len()).into());
        }
    }
    Ok(())
}

async fn large_bodies(port: &str) -> Outcome {
    let (client, _) = connect(port, Builder::new()).await?;
    let bodies: Vec<_> = (0..4).map(|index| Bytes::from(vec![b'a' + index; 3_000_000])).collect();
    let calls: Vec<_> = bodies.iter().map(|body| tokio::spawn(echo(client.clone(), 0, body.clone()))).collect();
    for (body, call) in bodies.iter().zip(calls) {
        if call.await??.1 != body {
            return Err("another body came back".into());
        }
    }
    Ok(())
}

/// A client that resets some of its streams gets the others.
async fn resets(port: &str) -> Outcome {
    let (client, _) = connect(port, Builder::new()).await?;
    for _ in 0..100 {
        let mut ready = client.clone().ready().await?;
        let request = Request::builder().method(Method::POST).uri("http://a.test/").body(())?;
        let (response, mut stream) = ready.send_request(request, false)?;
        stream.send_data(Bytes::from("x"), false)?;
        stream.send_reset(Reason::CANCEL);
        drop(response);
        echo(client.clone(), 1, Bytes::from("still there")).await?;
    }
    Ok(())
}

async fn pings(port: &str) -> Outcome {
    let (client, pings) = connect(port, Builder::new()).await?;
    let mut pings = pings.ok_or("no pings")?;
    for _ in 0..50 {
        pings.ping(Ping::opaque()).await?;
    }
    echo(client, 1, Bytes::from("still there")).await?;
    Ok(())
}

/// A call of gRPC: what came of it stands in the trailers.
async fn trailers(port: &str) -> Outcome {
    let (client, _) = connect(port, Builder::new()).await?;
    let request = Request::builder()
        .method(Method::POST)
        .uri("http://a.test/grpc.testing.TestService/EmptyCall")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())?;
    let (response, mut stream) = client.ready().await?.send_request(request, false)?;
    stream.send_data(Bytes::from_static(&[0, 0, 0, 0, 0]), true)?;
    let (body, trailers) = read(response.await?.into_body()).await?;
    let status = trailers.ok_or("no trailers")?.get("grpc-status").cloned();
    if body.len() != 5 || status.as_ref().map(|value| value.as_bytes()) != Some(b"0") {
        return Err(format!("{} bytes and the status {status:?}", body.len()).into());
    }
    Ok(())
}
