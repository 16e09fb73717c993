internal import CofferClient
internal import CofferPlatform
internal import CofferVault

// An import comes in parts.
extension Conversation {
  func stage(_ frame: borrowing Frame, on socket: borrowing LocalSocket) throws(AnswerFailure) {
    let (begins, items) = try arguments(of: frame) { (fields) throws(StoreError) in
      (try fields.flag(), try fields.read([ImportedItem].self))
    }
    if begins { server.staging.leave(&staged) }
    let bytes = frame.body.count
    try checked { () throws(StoreError) in try server.staging.take(items, bytes: bytes, into: &staged) }
    try done(on: socket) { (_) throws(StoreError) in }
  }

  func add(_ frame: borrowing Frame, on socket: borrowing LocalSocket) throws(AnswerFailure) {
    let (count, policy, keeping, isTrial) = try arguments(of: frame) { (fields) throws(StoreError) in
      (
        try fields.number(UInt64.self), try DuplicatePolicy(number: fields.number()), Int(try fields.number(UInt32.self)),
        try fields.flag()
      )
    }
    let items = staged.items
    server.staging.leave(&staged)
    // After a loss, a client continues on another connection, which has none of the earlier items.
    guard items.count == Int(clamping: count) else {
      throw .refused(
        StoreError(
          .conflict, "only \(items.count) of \(count) items have reached the agent, and none was added", cure: "import them again"
        ))
    }
    let report =
      if isTrial {
        try withVault { (vault) throws(StoreError) in try vault.add(items, duplicates: policy, keeping: keeping, isTrial: true) }
      } else {
        try change(on: socket) { (vault) throws(StoreError) in try vault.add(items, duplicates: policy, keeping: keeping) }
      }
    let fates = [(0 as UInt8, report.added), (1, report.replaced), (2, report.kept)].flatMap { fate, names in
      names.map { (fate, $0) }
    }
    try pages(of: fates, on: socket) { (fate, writer) throws(StoreError) in
      try writer.put(fate.0, fate.1)
    }
  }
}
