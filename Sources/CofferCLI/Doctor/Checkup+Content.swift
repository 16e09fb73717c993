internal import CofferAgent
internal import CofferPlatform
internal import CofferSecretService
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

extension Checkup {
  /// Reads its pages without a key, and all of it if a key needs no question.
  func content(_ check: String) -> [Finding] {
    guard let vault = existingVault else { return [] }
    do {
      try vault.checkPages()
      guard let slots = try verifiedSlots(vault) else { return [unverified(check, vault)] }
      return slots.compactMap { member($0, check, vault) }
    } catch let error as StoreError {
      return [.locked, .unproven, .noAgent].contains(error.kind) ? [unverified(check, vault)] : [Finding(check, error)]
    } catch let failure as Failure {
      guard failure.status != .locked else { return [unverified(check, vault)] }
      return [Finding(check, .problem, failure.what, place: failure.place, cure: failure.cure ?? "")]
    } catch { return [unverified(check, vault)] }
  }

  private func unverified(_ check: String, _ vault: LockedVault) -> Finding {
    Finding(
      check, .note, "not verified: its pages are intact; checking their content needs a key", place: vault.place.description,
      cure: "coffer vault verify")
  }

  /// Nil if no agent holds the vault unlocked, and neither an option nor the environment names a secret that can be read
  /// repeatedly.
  private func verifiedSlots(_ vault: LockedVault) throws -> [VaultStatus.Slot]? {
    if let agent = try context.agent() {
      _ = try agent.ask(Calls.verify)
      return try agent.ask(Calls.describe).status.slots
    }
    guard try hasSecrets, environment("").allSatisfy({ $0.place == nil }) else { return nil }
    context.questions = .nowhere
    var copy = vault
    // The pins have their own check, and must not change.
    (copy.options.pins, copy.options.lockFolder) = (nil, nil)
    let unpinned = copy
    let opened = try context.opening(vault) { credentials in try unpinned.unlock(with: credentials) }
    _ = try opened.verify()
    return try opened.slots()
  }

  /// Seconds before a last day in which it is mentioned: a month.
  private static let notice = 30 * 86_400.0

  /// Nil for a slot without a last day, or with one that is more than a month ahead.
  private func member(_ slot: VaultStatus.Slot, _ check: String, _ vault: LockedVault) -> Finding? {
    guard let ends = slot.ends, ends < Date() + Self.notice else { return nil }
    let (place, words) = (vault.place.description, slot.words)
    guard slot.hasEnded else {
      return Finding(
        check, .note, "a member's last day comes soon: \(words)", place: place, cure: "coffer vault slot label sets another day")
    }
    return Finding(
      check, .warning, "a member's last day is over, and the slot still opens the vault: \(words)", place: place,
      cure: "coffer vault rotate removes it; coffer vault slot label sets another day")
  }

  /// Secrets of the options, or else the environment, all in files: a pipe gives its content once, to its intended reader.
  private var hasSecrets: Bool {
    get throws {
      let given =
        context.unlocking.map { [$0.passphraseFile, $0.keyFile, $0.recoveryFile, $0.identity].compactMap(\.self) } ?? []
      guard context.unlocking?.usesStandardInput != true, context.unlocking?.passphraseFd == nil else { return false }
      let named =
        given.isEmpty
        ? ["COFFER_PASSPHRASE_FILE", "COFFER_KEY_FILE", "COFFER_IDENTITY"].compactMap(ProcessEnvironment.value) : given
      guard try !named.isEmpty || EnvironmentPassphrase.use() != nil else { return false }
      return named.allSatisfy { path in
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
      }
    }
  }
}

extension Checkup {
  /// Nothing without a bus.
  func secretService(_ check: String) -> Finding? {
    let buses = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"]
    guard buses.contains(where: { ProcessEnvironment.value($0) != nil }) else { return nil }
    let owner: ProviderOwner?
    // Without a bus, or its library, no program asks.
    do throws(StoreError) { owner = try SecretServiceProvider.owner() } catch { return nil }
    guard let owner else {
      return Finding(
        check, .note, "no program answers requests for secrets, as gh and VS Code make them",
        cure: "coffer secret-service status names the missing part")
    }
    guard owner.program == "coffer" else {
      return Finding(
        check, .note, "\(owner) answers requests for secrets",
        cure: "to use Coffer instead: coffer secret-service install, then end that program")
    }
    // Electron and Chromium look at the desktop's name, not at the bus.
    let desktop = ProcessEnvironment.value("XDG_CURRENT_DESKTOP") ?? ""
    guard !Self.knownDesktops.contains(where: desktop.uppercased().contains) else { return nil }
    return Finding(
      check, .note, "on this desktop, Chromium and Electron programs such as VS Code use no keyring by default",
      cure: "start them with --password-store=gnome-libsecret")
  }

  /// Desktops on which Chromium asks by itself. Source: Chromium, docs/linux/password_storage.md.
  private static let knownDesktops = ["GNOME", "UNITY", "CINNAMON", "XFCE", "PANTHEON", "DEEPIN", "UKUI"]
}
