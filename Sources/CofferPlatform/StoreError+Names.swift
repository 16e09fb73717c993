extension StoreError.Kind {
  /// The kind's number in the agent's protocol. It never changes, and is never reused.
  package var code: UInt8 { names.code }

  /// The kind's name for programs. It never changes.
  package var word: String { names.word }

  /// Without `default`: the compiler demands both names for a new kind.
  private var names: (code: UInt8, word: String) {
    switch self {
    case .invalidName: (1, "invalidName")
    case .undeclared: (2, "undeclared")
    case .duplicateKey: (3, "duplicateKey")
    case .refused: (4, "refused")
    case .tooLarge: (5, "tooLarge")
    case .reentrant: (6, "reentrant")
    case .closed: (7, "closed")
    case .undecodable: (8, "undecodable")
    case .unencodable: (9, "unencodable")
    case .expired: (10, "expired")
    case .clockBehind: (11, "clockBehind")
    case .notFound: (12, "notFound")
    case .alreadyExists: (13, "alreadyExists")
    case .ambiguous: (14, "ambiguous")
    case .conflict: (15, "conflict")
    case .pending: (16, "pending")
    case .locked: (17, "locked")
    case .wrongSecret: (18, "wrongSecret")
    case .noVault: (19, "noVault")
    case .notAVault: (20, "notAVault")
    case .damaged: (21, "damaged")
    case .tampered: (22, "tampered")
    case .rolledBack: (23, "rolledBack")
    case .forked: (24, "forked")
    case .replaced: (25, "replaced")
    case .newerFormat: (26, "newerFormat")
    case .kdfMemory: (27, "kdfMemory")
    case .busy: (28, "busy")
    case .denied: (29, "denied")
    case .readOnly: (30, "readOnly")
    case .noSpace: (31, "noSpace")
    case .io: (32, "io")
    case .outcomeUnknown: (33, "outcomeUnknown")
    case .unsupported: (34, "unsupported")
    case .incomplete: (35, "incomplete")
    case .closureThrew: (36, "closureThrew")
    case .afterFork: (37, "afterFork")
    case .givenUp: (38, "givenUp")
    case .noAgent: (39, "noAgent")
    case .noCredentials: (40, "noCredentials")
    case .unfitSecret: (41, "unfitSecret")
    case .lastSlot: (42, "lastSlot")
    case .otherVault: (43, "otherVault")
    case .unproven: (44, "unproven")
    case .moved: (45, "moved")
    case .inUse: (46, "inUse")
    case .memory: (47, "memory")
    case .unreachable: (48, "unreachable")
    case .loginRefused: (49, "loginRefused")
    case .cancelled: (50, "cancelled")
    }
  }

  /// Each kind once, by code, with zeros for associated values.
  package static let all: [StoreError.Kind] = [
    .invalidName, .undeclared, .duplicateKey, .refused, .tooLarge(limit: 0), .reentrant, .closed,
    .undecodable(stored: ""), .unencodable, .expired, .clockBehind, .notFound, .alreadyExists, .ambiguous, .conflict,
    .pending(.zero), .locked, .wrongSecret, .noVault, .notAVault, .damaged, .tampered, .rolledBack, .forked,
    .replaced, .newerFormat(found: 0, supported: 0), .kdfMemory(needs: 0, has: 0), .busy, .denied, .readOnly,
    .noSpace, .io(0), .outcomeUnknown, .unsupported, .incomplete, .closureThrew, .afterFork, .givenUp, .noAgent,
    .noCredentials, .unfitSecret, .lastSlot, .otherVault, .unproven, .moved, .inUse, .memory,
    .unreachable, .loginRefused, .cancelled,
  ]
}
