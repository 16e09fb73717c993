import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

/// The real programs at a virtual display.
@Suite(.tags(.process), .wholeRun)
struct DisplayTests {
  private final class Display {
    private let server: Child
    init(_ server: Child) { self.server = server }
    deinit {
      kill(server.id, SIGTERM)
      _ = try? server.wait()
    }
  }

  private static func find(_ program: String) -> String? {
    ["/usr/local/bin", "/usr/bin", "/bin"].map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
  }

  private func home() throws -> Home {
    let home = try Home.withVault()
    // xsel fails if it cannot write a log.
    home.environment["HOME"] = home.path
    try home.transcript("vault set github", in: "grüße 2")
    return home
  }

  private func x11(_ home: Home) throws -> Display? {
    guard let program = Self.find("Xvfb") else { return nil }
    let number = try home.file("display")
    let server = try Child(
      ["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "16x16x24"], environment: home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: (number, O_WRONLY), 2: ("/dev/null", O_WRONLY)], program: program)
    let display = Display(server)
    try eventually("Xvfb starts") { try home.content("display").hasSuffix("\n") }
    home.environment["DISPLAY"] = ":" + (try home.content("display").trimmingCharacters(in: .newlines))
    return display
  }

  /// sway without a screen, as the home's display; nil if it is not installed. It refuses root.
  private func wayland(_ home: Home) throws -> Display? {
    guard let sway = Self.find("sway"), let setpriv = Self.find("setpriv") else { return nil }
    let isRoot = geteuid() == 0
    chmod(home.path, 0o711)
    let run = home.path + "/display"
    try FileManager.default.createDirectory(atPath: run, withIntermediateDirectories: true)
    chmod(run, 0o700)
    if isRoot { chown(run, 65_534, 65_534) }
    let config = try home.file("sway", "xwayland disable\n", mode: 0o644)
    let variables = [
      "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman", "XDG_RUNTIME_DIR": run, "HOME": run,
      "PATH": "/usr/bin:/bin",
    ]
    let server = try Child(
      (isRoot ? ["--reuid=65534", "--regid=65534", "--clear-groups", sway] : []) + ["-c", config], environment: variables,
      opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)],
      program: isRoot ? setpriv : sway)
    let display = Display(server)
    eventually("sway starts") { SocketProxy.isListening(run + "/wayland-1") }
    home.environment.merge(["XDG_RUNTIME_DIR": run, "WAYLAND_DISPLAY": "wayland-1"]) { $1 }
    return display
  }

  @Test(arguments: ["xclip", "xsel"])
  func `under X11 a value is copied and cleared, and the primary selection is left alone`(tool: String) throws {
    let home = try home()
    guard Self.find(tool) != nil, Self.find("xclip") != nil, let display = try x11(home) else {
      try Test.skip(without: "Xvfb, xclip or \(tool)")
    }
    // A reader whose owner ends between question and answer waits forever.
    func selection(_ name: String) throws -> String? {
      let answer = try #require(try home.program(["timeout", "10", "xclip", "-selection", name, "-out"]))
      return answer.status == 124 ? nil : answer.out
    }
    try copy("primary text", ["xclip", "-selection", "primary", "-in"], home)
    try home.transcript("vault get github -c --clear-after 0 --clipboard \(tool)", err: "with \(tool); it will not be cleared")
    // xsel owns it shortly after it has ended.
    try eventually { try selection("clipboard") == "grüße 2" }
    try home.transcript("vault get github -c --clear-after 1 --clipboard \(tool)", err: "with \(tool); cleared in 1 s")
    try eventually { try selection("clipboard") == "" }
    #expect(try selection("primary") == "primary text")
    withExtendedLifetime(display) {}
  }

  @Test func `under Wayland a value is copied and cleared`() throws {
    let home = try home()
    guard Self.find("wl-copy") != nil, let display = try wayland(home) else {
      try Test.skip(without: "sway or wl-clipboard")
    }
    func content() throws -> String { try #require(try home.program(["wl-paste", "--no-newline"])).out }
    try home.transcript("vault get github -qc --clear-after 0")
    #expect(try content() == "grüße 2")
    try home.transcript("vault get github -c --clear-after 1", err: "with wl-copy; cleared in 1 s")
    try eventually { try content().isEmpty }
    withExtendedLifetime(display) {}
  }

  /// Such a program stays in the background, and would hold the streams of a test that awaits their end.
  private func copy(_ text: String, _ words: [String], _ home: Home) throws {
    let answer = try #require(try home.program(words, in: text))
    #expect(answer.status == 0)
  }
}
