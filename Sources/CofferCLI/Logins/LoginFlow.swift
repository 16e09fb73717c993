internal import CofferLogin
internal import CofferTerminal
internal import FoundationEssentials

struct LoginFlow {
  enum Way { case device, web }

  let context: Context
  let opensBrowser: Bool

  /// - Parameter way: nil for the best one: by a code if the server has that, as it works everywhere.
  func tokens(_ client: OAuthClient, _ way: Way?) throws -> OAuthTokens {
    let way = way ?? (client.server.deviceAuthorizationEndpoint == nil ? .web : .device)
    defer { StatusLine.clear() }
    switch way {
    case .device:
      let login = try client.loginByCode(nil)
      try say(url: login.verificationURL, code: login.userCode, expires: login.expires)
      // Not the page with the code in it: a reader of the browser's arguments could answer it with an account of their own.
      open(login.verificationURL)
      context.spin("waiting for the login; the code expires \(LocalTime().expiry(login.expires))")
      return try login.wait(Cancellation())
    case .web:
      let login = try client.loginByBrowser()
      try say(url: login.url, code: nil, expires: nil)
      if Display.errors.isTerminal, ProcessEnvironment.value("SSH_CONNECTION") != nil, !Self.hasDisplay {
        context.note("the page returns only to this machine; for a browser on another one, log in with a code: --device")
      }
      open(login.url)
      context.spin("waiting for the browser")
      return try login.wait(Cancellation())
    }
  }

  private static var hasDisplay: Bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].contains { ProcessEnvironment.value($0)?.isEmpty == false }
  }

  /// A sentence for a person at a terminal, otherwise a line each, or JSON.
  private func say(url: String, code: String?, expires: Date?) throws {
    guard !context.json else {
      var fields = ["url": url]
      fields["code"] = code
      fields["expires"] = expires.map(Moment.text)
      return try Output.line(JSONText.encode(fields))
    }
    guard Display.errors.isTerminal else {
      try Output.line(url)
      if let code { try Output.line(code) }
      return
    }
    let what = code.map { "Open \(url) and enter the code \(Style.bold.text($0, .errors))" } ?? "Open \(url)"
    Output.message(what)
  }

  /// Without a browser the person opens it. Every user of the machine can read the address among the browser's arguments:
  /// nothing in it gives access to a token.
  private func open(_ url: String) {
    guard opensBrowser, Display.errors.isTerminal, !context.json else { return }
    guard ProcessEnvironment.value("BROWSER") != nil || Self.hasDisplay else { return }
    let program = ProcessEnvironment.value("BROWSER") ?? "xdg-open"
    // Without a browser the person opens the page; the address is on the screen.
    do throws(Failure) { try BackgroundProgram.start(program, url) } catch {}
  }
}

enum BackgroundProgram {
  static func start(_ program: String, _ argument: String) throws(Failure) {
    let file = try Executable.find(ByteWord(program), path: ProcessEnvironment.word("PATH"))
    // In a session of its own, so that control-C here does not end it.
    var child = Child(
      file, [ByteWord(program), ByteWord(argument)], .inherited(ChildEnvironment()), [0: .null, 1: .null, 2: .null])
    child.hasOwnSession = true
    _ = try child.start { Executable.failure(ByteWord(program), $0) }
  }
}
