internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferSecretService
internal import CofferTerminal

extension Checkup {
  /// Checks which provider answers programs that ask for secrets, if there is a bus at all.
  func secretService(_ check: String) -> [Finding] {
    guard ProcessEnvironment.value("DBUS_SESSION_BUS_ADDRESS") != nil || ProcessEnvironment.value("XDG_RUNTIME_DIR") != nil else {
      return []
    }
    let owner: ProviderOwner?
    // Without a bus, or its library, no program asks.
    do throws(StoreError) { owner = try SecretServiceProvider.owner() } catch { return [] }
    guard let owner else {
      return [
        Finding(
          check, .note, "nobody answers programs that ask for secrets, such as gh and VS Code",
          cure: "coffer secret-service status, which says what is missing")
      ]
    }
    guard owner.program == "coffer" else {
      return [
        Finding(
          check, .note, "\(owner) answers programs that ask for secrets",
          cure: "coffer secret-service install, if Coffer shall; then end that program")
      ]
    }
    // Electron and Chromium look at the desktop's name, not at the bus.
    let desktop = ProcessEnvironment.value("XDG_CURRENT_DESKTOP") ?? ""
    guard !Self.knownDesktops.contains(where: desktop.uppercased().contains) else { return [] }
    return [
      Finding(
        check, .note, "Chromium and Electron programs, such as VS Code, ask nobody for secrets on this desktop unless told to",
        cure: "start them with --password-store=gnome-libsecret")
    ]
  }

  /// Desktops on which Chromium asks by itself. Source: Chromium, docs/linux/password_storage.md.
  private static let knownDesktops = ["GNOME", "UNITY", "CINNAMON", "XFCE", "PANTHEON", "DEEPIN", "UKUI"]
}
