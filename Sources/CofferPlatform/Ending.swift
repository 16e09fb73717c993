internal import SystemPackage

extension sigset_t {
  package init(_ signals: [Int32]) {
    self.init()
    sigemptyset(&self)
    for signal in signals { sigaddset(&self, signal) }
  }
}

/// How a child of this process ended.
package enum Ending: Equatable {
  case exited(Int32)
  case killed(Int32)

  /// - Parameter raw: the status of waitpid(2), read like WIFEXITED, WEXITSTATUS and WTERMSIG, which Swift does not import.
  package init(_ raw: Int32) { self = raw & 0x7F == 0 ? .exited(raw >> 8 & 0xFF) : .killed(raw & 0x7F) }

  /// Waits for the end of `child`.
  ///
  /// - Throws: `.io` if the system does not report how it ended: that is no success.
  package init(of child: pid_t) throws(StoreError) {
    var raw: Int32 = 0
    while waitpid(child, &raw, 0) < 0 {
      guard errno == EINTR else { throw StoreError(errno: errno, "wait for a program that was started", place: "process") }
    }
    self.init(raw)
  }

  /// As a shell reports it.
  package var status: Int32 {
    switch self {
    case .exited(let status): status
    case .killed(let signal): 128 + signal
    }
  }

  /// For a child whose status does not matter.
  package static func discard(_ child: pid_t) { while waitpid(child, nil, 0) < 0, errno == EINTR {} }

  /// Ends this process in the same way.
  package func leave() -> Never {
    switch self {
    case .exited(let status): exit(status)
    case .killed(let number):
      signal(number, SIG_DFL)
      var one = sigset_t([number])
      pthread_sigmask(SIG_UNBLOCK, &one, nil)
      raise(number)
      exit(128 + number)  // A signal that cannot end us: as a shell tells it.
    }
  }
}
