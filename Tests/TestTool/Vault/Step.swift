internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// One operation of each kind, to fail its system calls: exits with 0 and reports success once acknowledged, with 1 and the
/// error's kind if refused.
enum Step {
  static func run(_ step: String, _ path: FilePath, _ keyFile: String) {
    // A write beyond the file size limit must fail, not end the process.
    signal(SIGXFSZ, SIG_IGN)
    if let limit = ProcessInfo.processInfo.environment["COFFER_TEST_FILE_LIMIT"].flatMap(UInt.init) {
      var limits = rlimit(rlim_cur: limit, rlim_max: limit)
      setrlimit(__rlimit_resource_t(1), &limits)  // RLIMIT_FSIZE
    }
    do {
      try perform(step, path, keyFile)
      VaultVerbs.say("acknowledged")
    } catch {
      VaultVerbs.say("refused \((error as? StoreError).map { "\($0.kind): \($0)" } ?? "\(error)")")
      exit(1)
    }
  }

  private static func perform(_ step: String, _ path: FilePath, _ keyFile: String) throws {
    let target = try ItemName(service: "svc", account: "target")
    switch step {
    case "init":
      _ = try UnlockedVault.create(
        at: .file(path), with: VaultVerbs.credentials(keyFile), cost: .testing, options: VaultVerbs.options)
    case "init-with-key-file":
      var places = Places(home: path.removingLastComponent())
      places.vault = .file(path)
      _ = try places.createVault(newKeyFileAt: FilePath(keyFile))
    case "measured-init":
      let credentials = Credentials(passphrase: try VaultVerbs.secret("passphrase"))
      _ = try UnlockedVault.create(at: VaultPlace(path.string + ".measured"), with: credentials, options: VaultVerbs.options)
    case "restore":
      let backup = try RestorableBackup(FilePath(path.string + ".backup"), toRestoreAt: .file(path))
      _ = try backup.restore(with: VaultVerbs.credentials(keyFile), options: VaultVerbs.options)
    case "restore-older":
      let backup = try RestorableBackup(FilePath(path.string + ".backup"), toRestoreAt: .file(path))
      _ = try backup.restore(with: VaultVerbs.credentials(keyFile), options: VaultVerbs.options, acceptingOlderKey: true)
    case "repair-older":
      let vault = try LockedVault.open(.file(path), options: VaultVerbs.options)
      _ = try vault.repair(with: VaultVerbs.credentials(keyFile), acceptingOlderKey: true)
    case "join":
      var credentials = Credentials()
      credentials.identity = try VaultVerbs.secret(String(contentsOfFile: path.string + ".identity", encoding: .utf8))
      let vault = try LockedVault.open(.file(path), options: VaultVerbs.options).unlock(with: credentials)
      guard VaultVerbs.text(try vault.get(target)) == "old plaintext" else { exit(3) }
    case "rebuild":
      let vault = try LockedVault.open(.file(path), options: VaultVerbs.options)
      _ = try vault.repair(with: VaultVerbs.credentials(keyFile), rebuilding: true, acceptingOlderKey: true)
    case "get":
      guard VaultVerbs.text(try VaultVerbs.unlock(path, keyFile).get(target)) == "old plaintext" else { exit(3) }
    case "passphrase-get":
      let credentials = Credentials(passphrase: try VaultVerbs.secret("passphrase"))
      let vault = try LockedVault.open(.file(path), options: VaultVerbs.options).unlock(with: credentials)
      guard VaultVerbs.text(try vault.get(target)) == "old plaintext" else { exit(3) }
    default: try change(step, VaultVerbs.unlock(path, keyFile), target, keyFile)
    }
  }

  private static func change(
    _ step: String, _ vault: consuming UnlockedVault, _ target: ItemName, _ keyFile: String
  ) throws {
    switch step {
    case "set": try vault.set(SecretForm(VaultVerbs.secret("new plaintext")), for: target)
    case "delete": try vault.remove(target)
    case "delete-keeping": try vault.remove(target, keptUntil: .distantFuture)
    case "move": try vault.apply([.move(target, to: ItemName(service: "svc", account: "moved"))])
    case "revert":
      guard let first = try vault.revisions(of: target).last else { exit(4) }
      try vault.revert(target, to: first.item.revision)
    case "merge":
      let place = VaultPlace(vault.place.description + ".other")
      let other = try LockedVault.open(place, options: .withoutPins).unlock(with: VaultVerbs.credentials(keyFile))
      _ = try vault.merge(other)
    case "undelete": try vault.undelete(ItemName(service: "svc", account: "gone"))
    case "prune": try vault.prune(.allBut(0))
    case "rotate": try vault.rotate()
    case "passphrase":
      let slot = try vault.slots().first { $0.summary.kind == .passphrase }
      try vault.changePassphrase(
        to: Credentials(passphrase: VaultVerbs.secret("new passphrase")), ofSlot: slot?.summary.id, cost: .testing)
    case "slot-add":
      var credentials = Credentials()
      credentials.recoveryCode = try RecoveryCode.generate()
      try vault.addSlot(credentials, label: "code")
    case "slot-remove":
      guard let slot = try vault.slots().first(where: { $0.summary.kind == .passphrase }) else { exit(4) }
      try vault.removeSlot(slot.summary.id)
    default: exit(64)
    }
  }
}
