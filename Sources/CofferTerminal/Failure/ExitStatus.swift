internal import Coffer

/// Scripts rely on them. 64 to 78 follow `sysexits.h`.
package enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case notFound = 1
  case failed = 2
  case usage = 64
  case damaged = 65
  case untrusted = 66
  case locked = 69
  case cannotCreate = 73
  case io = 74
  case busy = 75
  case newerVersion = 76
  case refused = 77
  case noVault = 78
  case notStarted = 125
  case cannotExecute = 126
  case commandNotFound = 127
  case interrupted = 130
  case pipeClosed = 141
  case terminated = 143

  package var meaning: String {
    switch self {
    case .done: "done"
    case .notFound: "not found, or expired"
    case .failed: "other failure, several items match, or coffer doctor or coffer vault audit found something"
    case .usage: "the command line is wrong; nothing was done"
    case .damaged: "damaged data, or data that cannot be decoded"
    case .untrusted: "tampered with, rolled back, forked, replaced or not proven; the message and --json say which"
    case .locked: "the vault is locked and there is nothing to unlock it with"
    case .cannotCreate: "cannot create: it is already there"
    case .io: "input or output failed: disk full, read-only, or the system's message"
    case .busy: "busy, or a server cannot be reached: try again"
    case .newerVersion: "made by a newer version of coffer"
    case .refused: "wrong passphrase or key, refused permission, or a server refuses a login"
    case .noVault: "no vault here"
    case .notStarted: "coffer run did not start the command: a reference, the vault or an option is wrong"
    case .cannotExecute: "the command of coffer run cannot be executed"
    case .commandNotFound: "the command of coffer run was not found"
    case .interrupted: "interrupted at a prompt, or while watching"
    case .pipeClosed: "the reader closed the pipe"
    case .terminated: "ended by SIGTERM while watching"
    }
  }
}

extension StoreError.Kind {
  /// Without `default`: the compiler demands a status for a new kind.
  package var exitStatus: ExitStatus {
    switch self {
    case .expired, .notFound: .notFound
    case .ambiguous, .clockBehind, .kdfMemory, .reentrant, .closed, .afterFork, .cancelled, .moved, .unencodable: .failed
    case .invalidName, .duplicateKey, .undeclared, .tooLarge: .usage
    case .undecodable, .damaged, .notAVault: .damaged
    case .tampered, .rolledBack, .forked, .replaced, .unproven: .untrusted
    case .locked, .noAgent, .noCredentials: .locked
    case .alreadyExists: .cannotCreate
    case .noSpace, .readOnly, .memory, .io: .io
    case .busy, .conflict, .pending, .unreachable: .busy
    // Scripts would repeat it after .busy, but it may have been done.
    case .outcomeUnknown: .io
    case .newerFormat: .newerVersion
    case .wrongSecret, .denied, .refused, .unsupported, .incomplete, .closureThrew, .givenUp, .unfitSecret, .lastSlot,
      .otherVault, .inUse, .loginRefused:
      .refused
    case .noVault: .noVault
    }
  }
}
