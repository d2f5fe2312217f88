//! The server: a thread that listens on loopback, a thread for each connection, and their shared state. It stops
//! all threads when it is dropped.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::http::HttpRequest;
use crate::perform::{After, Stage};
use crate::script::Script;
use crate::step::Step;
use crate::vendor::{Answer, Asked, Reading, Route, Vendor, side_answer};

/// A model server on loopback.
#[derive(Debug)]
pub struct FakeModels {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// Numbers the answers.
    answers: AtomicU64,
    state: Mutex<State>,
}

/// The shared state, which one thread at a time may change.
#[derive(Debug)]
struct State {
    script: Script,
    /// Scripts of models that have their own.
    of_models: BTreeMap<String, Script>,
    asked: Vec<Asked>,
    /// Open connections, which are closed when the server stops.
    open: BTreeMap<u64, TcpStream>,
    connections: Vec<JoinHandle<()>>,
}

impl FakeModels {
    /// Starts a server on a free port.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_on(0, script)
    }

    /// Starts a server on this port; 0 selects a free one.
    pub fn start_on(port: u16, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let state = State {
            script,
            of_models: BTreeMap::new(),
            asked: Vec::new(),
            open: BTreeMap::new(),
            connections: Vec::new(),
        };
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            answers: AtomicU64::new(1),
            state: Mutex::new(state),
        });
        let listening = Arc::clone(&shared);
        let listener = thread::spawn(move || listen(&listener, &listening));
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// Returns its address, without a path and a final slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets a separate script for a model, so that one address can serve a whole team.
    pub fn script_for(&self, model: &str, script: Script) {
        self.shared.state().of_models.insert(model.to_owned(), script);
    }

    /// Returns the main requests so far, oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.state().asked.clone()
    }
}

impl Drop for FakeModels {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        // This connection wakes the listener.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            // A thread that panicked has already printed a message.
            let _ = listener.join();
        }
        let (open, connections) = {
            let mut state = self.shared.state();
            (std::mem::take(&mut state.open), std::mem::take(&mut state.connections))
        };
        for stream in open.values() {
            // The client may have closed it before.
            let _ = stream.shutdown(Shutdown::Both);
        }
        for connection in connections {
            let _ = connection.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in (0..).zip(listener.incoming()) {
        if shared.is_stopping() {
            return;
        }
        let Ok(stream) = stream else { continue };
        let Ok(copy) = stream.try_clone() else { continue };
        let serving = Arc::clone(shared);
        let mut state = shared.state();
        state.open.insert(number, copy);
        state.connections.retain(|connection| !connection.is_finished());
        state.connections.push(thread::spawn(move || {
            // An error is expected: in some tests, a client closes the connection early.
            let _ = serve(stream, &serving);
            if let Some(stream) = serving.state().open.remove(&number) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }));
    }
}

/// Answers the requests of one connection.
fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = HttpRequest::read(&mut reader)? {
        let mut stage = Stage { stream: &mut stream, stop: &shared.stop };
        if shared.is_stopping() || answer(&request, &mut stage, shared)? == After::Closed {
            break;
        }
    }
    Ok(())
}

fn answer(request: &HttpRequest, stage: &mut Stage<'_>, shared: &Shared) -> io::Result<After> {
    let route = Route::from_path(&request.path);
    if request.method != "POST" {
        return match route {
            Route::Models => {
                stage.json(200, &json!({ "object": "list", "data": [], "models": [] }))
            }
            _ => stage.json(404, &Vendor::Anthropic.error(404)),
        };
    }
    match route {
        Route::Model(vendor) => answer_model(request, vendor, stage, shared),
        Route::Count(field) => stage.json(200, &json!({ field: tokens(&request.body) })),
        Route::Models | Route::Unknown => stage.json(404, &Vendor::Anthropic.error(404)),
    }
}

fn answer_model(
    request: &HttpRequest,
    vendor: Vendor,
    stage: &mut Stage<'_>,
    shared: &Shared,
) -> io::Result<After> {
    if request.header("content-encoding").is_some_and(|encoding| encoding != "identity") {
        return stage.json(415, &vendor.error(400));
    }
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        return stage.json(400, &vendor.error(400));
    };
    let reading = vendor.read(&request.path, &body);
    drop(body);
    let answer = Answer {
        model: reading.model.clone(),
        tools: reading.tools.clone(),
        input_tokens: tokens(&request.body),
        number: shared.answers.fetch_add(1, Ordering::Relaxed),
    };
    let step = if reading.is_main {
        take_step(request, vendor, &reading, shared)
    } else {
        Step::text(&side_answer())
    };
    stage.perform(&step, vendor, &reading, answer)
}

/// Records a main request and returns its step.
fn take_step(request: &HttpRequest, vendor: Vendor, reading: &Reading, shared: &Shared) -> Step {
    let asked = Asked {
        vendor,
        path: request.path.clone(),
        model: reading.model.clone(),
        system: reading.system.clone(),
        user: reading.user.clone(),
        last_message: reading.last_message().to_owned(),
        tools: reading.tools.clone(),
        key: Vendor::key(request),
        bytes: request.body.len(),
        body: String::from_utf8_lossy(&request.body).into_owned(),
    };
    let mut state = shared.state();
    state.asked.push(asked);
    let State { script, of_models, .. } = &mut *state;
    of_models.get_mut(&reading.model).unwrap_or(script).take(reading.last_message())
}

/// Returns a rough estimate of the tokens.
fn tokens(body: &[u8]) -> usize {
    (body.len() / 4).max(1)
}
