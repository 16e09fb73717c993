internal import CofferPlatform

/// Keeps SIGPIPE from a thread on which a library writes to sockets. libcurl's own writes raise none, but those of its TLS
/// library may, and a server that closes early must not end the program.
enum ClosedPipe {
  /// Runs `body`. A signal that it raised is discarded; one that was pending before stays pending.
  ///
  /// Source: curl.se/libcurl/c/CURLOPT_NOSIGNAL.html: with that option libcurl leaves the signal to the program.
  static func ignored<Result>(_ body: () throws -> Result) rethrows -> Result {
    // Elsewhere libcurl's sockets raise none.
    #if os(Linux)
      var pipe = sigset_t()
      var before = sigset_t()
      sigemptyset(&pipe)
      sigaddset(&pipe, SIGPIPE)
      let waitedBefore = isWaiting
      pthread_sigmask(SIG_BLOCK, &pipe, &before)
      defer {
        if !waitedBefore, isWaiting {
          var atOnce = timespec()
          while sigtimedwait(&pipe, nil, &atOnce) < 0, errno == EINTR {}
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
      }
    #endif
    return try body()
  }

  /// Whether a SIGPIPE is pending for this thread or the process.
  static var isWaiting: Bool {
    var waiting = sigset_t()
    sigpending(&waiting)
    return sigismember(&waiting, SIGPIPE) == 1
  }
}
