package import CofferPlatform

/// A role of a vault's server, and its rights to the vault's tables. Rows are sealed: reading a value also takes a secret.
package struct ServerRole: Sendable, Equatable {
  package enum Access: String, Sendable, CaseIterable {
    case writer, reader, none
  }

  package let name: String
  package let access: Access

  package init(name: String, access: Access) throws(StoreError) {
    guard 1...63 ~= name.utf8.count, !name.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) else {
      throw StoreError(.invalidName, "a role's name has 1 to 63 bytes, and no control characters", cure: "check the role's name")
    }
    (self.name, self.access) = (name, access)
  }
}

extension VaultPlace {
  /// Gives roles exactly these rights to the tables of the vault, and to later tables beside them.
  ///
  /// - Returns: roles that have more rights, as superusers or through a role of which they are members.
  /// - Throws: ``/CofferPlatform/StoreError`` `.unsupported` for a file, `.noVault`, `.invalidName` for a role that the server
  ///   does not have, `.refused` for the owner of the tables, `.denied` for any other role than the owner, and the errors of
  ///   opening a vault.
  package func grant(_ roles: [ServerRole]) throws(StoreError) -> [ServerRole] {
    guard let server else {
      throw StoreError(
        .unsupported, "a file has no roles", place: description, cure: "set its owner and mode; roles are for vaults on servers")
    }
    return try server.server().grant(server.url, roles)
  }

  /// The statements that let a role in; nil for a file.
  package func statements(granting role: ServerRole) throws(StoreError) -> [String]? {
    guard let server else { return nil }
    return try server.server().statements(server.url, granting: role)
  }
}
