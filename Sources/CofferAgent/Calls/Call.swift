internal import CofferClient
internal import CofferPlatform
package import CofferVault

package enum CallEffect: Sendable {
  case none
  /// Changes the file, and no item: without an answer the outcome is unknown.
  case file
  /// Changes items: the vault's log names the client too, and watchers hear of it.
  case items
}

/// A request for a vault that the agent holds: its number, its arguments and its answer on the wire, and the work.
///
/// The agent answers it, the client asks it, and the command line does its work on a vault of its own, too.
package struct Call<Answer: WireValue, each Argument: WireValue>: Sendable {
  let request: AgentProtocol.Request
  let effect: CallEffect
  package let work: @Sendable (borrowing UnlockedVault, repeat each Argument) throws(StoreError) -> Answer

  init(
    _ request: AgentProtocol.Request, _ effect: CallEffect = .none,
    _ work: @escaping @Sendable (borrowing UnlockedVault, repeat each Argument) throws(StoreError) -> Answer
  ) {
    (self.request, self.effect, self.work) = (request, effect, work)
  }
}

/// A call whose answer is a list, in as many frames as it needs.
package struct ListCall<Element: WireValue, each Argument: WireValue>: Sendable {
  let request: AgentProtocol.Request
  let effect: CallEffect
  package let work: @Sendable (borrowing UnlockedVault, repeat each Argument) throws(StoreError) -> [Element]

  init(
    _ request: AgentProtocol.Request, _ effect: CallEffect = .none,
    _ work: @escaping @Sendable (borrowing UnlockedVault, repeat each Argument) throws(StoreError) -> [Element]
  ) {
    (self.request, self.effect, self.work) = (request, effect, work)
  }
}
