internal import CofferClient
package import CofferPlatform
package import CofferSync
package import FoundationEssentials

extension AgentClient {
  /// More than the time after which another program that carries files is stopped.
  private static let syncTime = Duration.seconds(3_600)

  /// The agent's sync of the vault with a remote that this machine has synced with before, as ``VaultSync/run(_:_:with:)``
  /// does it. It accepts nothing that the machine would refuse: that is for the owner of a secret.
  ///
  /// - Parameters:
  ///   - remote: as ``VaultSync/remote`` names it.
  ///   - machine: this machine's name.
  ///   - date: until when an item deleted elsewhere can be restored here; nil removes it for good.
  ///   - isTrial: only reports.
  /// - Throws: its errors; `.notFound` for another remote, `.locked` if the vault is locked meanwhile.
  package func sync(
    with remote: String, as machine: String, keptUntil date: Date? = .distantFuture, isTrial: Bool = false
  ) throws(StoreError) -> SyncReport {
    var options = SyncOptions(machine: machine)
    (options.keptUntil, options.isTrial) = (date, isTrial)
    guard let report = try outcomes(SyncRequest(remote: remote, options: options)).first?.report else {
      throw FrameReader.malformed("it has no report of a sync")
    }
    return report
  }

  /// The conflicts and the errors of automatic syncs that nobody has been told of. Empty from an older agent.
  package func syncNews() throws(StoreError) -> [SyncOutcome] {
    do throws(StoreError) { return try outcomes(nil) } catch {
      guard error.kind == .unsupported else { throw error }
      return []
    }
  }

  private func outcomes(_ request: SyncRequest?) throws(StoreError) -> [SyncOutcome] {
    var json: [UInt8] = []
    try askForPages(.sync, isWrite: request != nil, within: request.map { _ in Self.syncTime }) { (writer) throws(StoreError) in
      try writer.put(request)
    } element: { (fields) throws(StoreError) in
      json += try fields.plainBytes(limit: AgentProtocol.pageBytes)
    }
    return try [SyncOutcome](json: json)
  }
}
