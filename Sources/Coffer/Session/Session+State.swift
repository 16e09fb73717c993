public import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials

extension Session {
  /// The state of the login, from the stores at one moment.
  ///
  /// A user without a credential, or a credential without a user, counts as logged out: something other than a session
  /// removed the rest.
  ///
  /// - Throws: `StoreError` `.noVault`, `.undecodable`, `.pending` and the stores' own failures: none of them is a state.
  public func state() throws(StoreError) -> State {
    try state(of: Result { () throws(StoreError) in try keys.look() })
  }

  func state(of result: Result<SessionKeys<User>.Look, StoreError>) throws(StoreError) -> State {
    do throws(StoreError) {
      let look = try result.get()
      guard let user = look.user, look.hasCredential else { return .loggedOut }
      return hasPassed(look.expires) ? .expired : .loggedIn(user)
    } catch {
      switch error.kind {
      case .locked, .noAgent: return try keys.isCertainlyAbsent() ? .loggedOut : .locked
      case .expired where keys.isOfCredential(error), .clockBehind where keys.isOfCredential(error):
        return try keys.isCertainlyAbsent() ? .loggedOut : .expired
      default: throw error
      }
    }
  }

  private func hasPassed(_ moment: Date?) -> Bool { moment.map { $0 <= clock.now } ?? false }
}
