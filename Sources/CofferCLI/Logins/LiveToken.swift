internal import Coffer
internal import CofferFormats
internal import CofferLogin
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// A login's valid token: the stored one or a new one. For any number of callers one process asks the server.
struct LiveToken {
  let items: VaultItems

  /// The longest wait for another process's renewal.
  private static let patience: Duration = .seconds(60)

  /// - Throws: `.notFound` without a login; `.expired` if the token has ended and cannot be renewed; `.loginRefused`;
  ///   `.unreachable`.
  func token(of name: ItemName, fresh: Bool = false) throws -> SecretForm {
    guard let item = try items.item(name) else { throw AuthAccounts.nobody(name.service, name.account) }
    if !fresh, let form = try live(item) { return form }
    guard RenewableLogin.isOne(item) else {
      if fresh { throw Self.unrenewable(name) }
      return try items.value(of: name)
    }
    return try renewed(name, replacing: item)
  }

  /// Nil if the token has ended, or if the clock is too far behind the vault's last write to tell.
  private func live(_ item: VaultItem) throws -> SecretForm? {
    guard item.metadata.expires.map({ $0 > Date() }) ?? true else { return nil }
    do { return try items.get(item.name) } catch let error as StoreError
      where error.kind == .expired || error.kind == .clockBehind
    {
      return nil
    }
  }

  private func renewed(_ name: ItemName, replacing seen: VaultItem) throws -> SecretForm {
    let field = try name.field(named: RenewableLogin.refreshField)
    let (spent, seenField) = (try items.get(field), try items.item(field))
    let turn = try RefreshTurn.take(for: name.description, beside: items.place, within: Self.patience)
    defer { turn.end() }
    guard let item = try items.item(name) else { throw AuthAccounts.nobody(name.service, name.account) }
    // Another process was first.
    if item.isUnchanged != seen.isUnchanged, let form = try live(item) { return form }
    guard let client = try RenewableLogin.client(of: item, in: items),
      let refresh = try items.get(field), let current = try items.item(field)
    else { throw Self.unrenewable(name) }
    // The previous process was refused with this token; a server that sees it again may take it for stolen.
    if SecretForm.areSame(spent, refresh), current.isUnchanged != seenField?.isUnchanged { throw Self.refused(name) }
    // Checked before the request: a server that rotates treats the old token as stolen afterwards, and the new one needs
    // room.
    try items.rehearse(changes(of: item, to: try AuthAccounts.usualToken(), refresh))
    let tokens: OAuthTokens
    do { tokens = try client.tokens(refreshing: refresh, nil) } catch let error as StoreError where error.kind == .loginRefused {
      // It is written unchanged, so that waiting processes see a new version. A failure must not hide the current error.
      do { try items.set(refresh, for: field, if: current.isUnchanged, keeping: 0) } catch {}
      throw error
    }
    let isStored: Bool
    do { isStored = try store(tokens, in: item, replacing: refresh) } catch let error as StoreError
      where error.kind == .outcomeUnknown
    {
      throw error
    } catch { throw unstored(tokens, replacing: refresh, client, name, error) }
    guard isStored else {
      throw StoreError(
        .conflict, "a login or logout happened while the token was renewed", key: name.description,
        cure: "try again; the renewed token was dropped")
    }
    return tokens.access
  }

  /// The limit of writes for one renewal: an item's description does not change so often within a moment.
  private static let mostWrites = 8

  /// Stores the server's answer to `refresh`, even if the item's description changed meanwhile: a server that rotates
  /// accepts only the new token from then on. False if the login was replaced or removed.
  private func store(_ tokens: OAuthTokens, in seen: VaultItem, replacing refresh: SecretForm) throws -> Bool {
    var item = seen
    var writes = 0
    while true {
      do {
        try items.apply(changes(of: item, to: tokens.access, tokens.refresh, until: tokens.expires))
        return true
      } catch let error as StoreError where error.kind == .conflict || error.kind == .notFound {
        writes += 1
        guard writes < Self.mostWrites else { throw error }
        guard let now = try items.item(seen.name), now.id == seen.id, now.written == seen.written,
          let current = try items.get(seen.name.field(named: RenewableLogin.refreshField)),
          current.bytes.isEqual(to: refresh.bytes)
        else { return false }
        item = now
      }
    }
  }

  /// The error for a renewal that could not be stored. If the server has issued another refresh token, the stored one is
  /// spent, and the server is asked to revoke the new one.
  private func unstored(
    _ tokens: OAuthTokens, replacing refresh: SecretForm, _ client: OAuthClient, _ name: ItemName, _ error: any Error
  ) -> any Error {
    guard let next = tokens.refresh, !next.bytes.isEqual(to: refresh.bytes) else { return error }
    let isTakenBack: Bool
    // A failure must not hide the current error.
    do { isTakenBack = try client.revoke(next, nil) } catch { isTakenBack = false }
    let end = isTakenBack ? "the server has revoked it" : "the server still accepts it, but nobody has it"
    let outcome = "the renewed token could not be stored; \(end)"
    let cure = "coffer login \(name.service)"
    switch error {
    case let error as StoreError:
      return StoreError(
        error.kind, "\(error.what), so \(outcome)", key: name.description, place: error.place, cure: cure,
        underlying: error.underlying)
    case var failure as Failure:
      failure.cure = "\(cure), as \(outcome)"
      return failure
    default: return error
    }
  }

  /// The changes of a renewal, for one transaction: a server that rotates issues a refresh token as well.
  private func changes(
    of item: VaultItem, to access: SecretForm, _ refresh: SecretForm?, until expires: Date? = nil
  ) throws -> [ItemChange] {
    var metadata = item.metadata
    metadata.attributes = RenewableLogin.attributes(of: item)
    metadata.expires = expires
    let token = ItemChange.set(access.with(metadata), for: item.name, if: item.isUnchanged, keeping: 0)
    guard let refresh else { return [token] }
    return [token, .set(refresh, for: try item.name.field(named: RenewableLogin.refreshField), keeping: 0)]
  }

  private static func refused(_ name: ItemName) -> StoreError {
    StoreError(
      .loginRefused, "the server has just refused to renew this login for another process", key: name.description,
      cure: "coffer login \(name.service)")
  }

  private static func unrenewable(_ name: ItemName) -> StoreError {
    StoreError(
      .expired, "the token has expired and cannot be renewed", key: name.description, cure: "coffer login \(name.service)")
  }
}

extension SecretForm {
  func with(_ metadata: ItemMetadata) -> SecretForm {
    var form = self
    form.metadata = metadata
    return form
  }
}
