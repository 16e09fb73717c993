import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.campaign, .kill, .process), .wholeRun) struct SecretServiceCommandTests {
  @Test func `install has the bus start the service, and uninstall takes that back`() throws {
    let service = try SecretServiceHome(starts: false)
    let home = service.home
    let answer = try home.coffer("secret-service install --patience 1s")
    #expect(answer.status == 0 && answer.err.contains("wrote \(home.path)/share/dbus-1/services/org.freedesktop.secrets.service"))
    let file = try home.content("share/dbus-1/services/org.freedesktop.secrets.service")
    #expect(file.contains("Name=org.freedesktop.secrets\n") && file.contains(" secret-service run --quiet --patience 1s\n"))
    #expect(file.contains("COFFER_HOME=\(home.path)") && file.contains("SystemdService=coffer-secret-service.service\n"))
    let unit = try home.content("config/systemd/user/coffer-secret-service.service")
    #expect(unit.contains("Type=dbus\nBusName=org.freedesktop.secrets\n") && unit.contains("Environment=COFFER_HOME="))
    try home.transcript(
      "secret-service status --json --quiet", out: try home.coffer("secret-service status --json").out, err: "no program answers",
      exit: 1)
    // The bus reads its folders at its start, and on request, which install makes.
    #expect(answer.err.contains("the session bus starts the service"))
    // xdg-desktop-portal uses another name.
    let portal = try service.program(
      [
        "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.impl.portal.desktop.coffer",
        "/org/freedesktop/portal/desktop", "org.freedesktop.DBus.Peer.Ping",
      ])
    #expect(portal.status == 0, "\(portal.err)")
    let stored = try service.program(["secret-tool", "store", "--label=x", "a", "b"], in: "s")
    #expect(stored.status == 0, "\(stored.err)")
    let status = try home.coffer("secret-service status")
    #expect(status.status == 0 && status.out.contains("coffer, process"), "\(status.err)")
    #expect(try home.coffer("secret-service install --remove").err.contains("removed"))
    for name in ["secrets", "impl.portal.desktop.coffer"] {
      #expect(!home.exists("share/dbus-1/services/org.freedesktop.\(name).service"))
    }
    try home.transcript("secret-service install --remove", err: "nothing is installed", exit: 1)
    // The bus started it, and it ends with the bus.
    service.bus.stop()
  }

  @Test func `where nobody can be answered, install and status say why`() throws {
    let home = try Home()
    home.environment["XDG_DATA_HOME"] = home.path + "/share"
    home.environment["XDG_CONFIG_HOME"] = home.path + "/config"
    let answer = try home.coffer("secret-service install")
    #expect(answer.status == 0 && answer.err.contains("run programs under dbus-run-session"), "\(answer.err)")
    #expect(answer.err.contains("there is no vault yet: coffer init creates one"))
    #expect(try home.coffer("secret-service status").err.contains("dbus-run-session -- bash"))
    // The program has moved.
    let file = "share/dbus-1/services/org.freedesktop.secrets.service"
    let text = try home.content(file)
    _ = try home.file(file, text.replacing(" secret-service run", with: "-moved secret-service run"))
    let moved = try home.coffer("secret-service status")
    #expect(moved.out.contains("-moved is not there: coffer secret-service install --replace"), "\(moved.out)")
    #expect(try home.coffer("secret-service status --json").out.contains("\"installed\":false"))
  }

  @Test func `install keeps files of others, and uninstall too`() throws {
    let home = try Home()
    home.environment["XDG_DATA_HOME"] = home.path + "/share"
    home.environment["XDG_CONFIG_HOME"] = home.path + "/config"
    let file = try home.file("share/dbus-1/services/org.freedesktop.secrets.service", "[D-BUS Service]\nExec=/usr/bin/other\n")
    try home.transcript("secret-service install", err: "another file is already there", exit: 73)
    try home.transcript("secret-service install --remove", err: "belongs to another program", exit: 77)
    #expect(try home.coffer("secret-service install --replace").status == 0)
    #expect(try String(contentsOfFile: file, encoding: .utf8).contains("coffer"))
    #expect(try home.coffer("secret-service install").err.contains("is there already"))
    let printed = try home.coffer("secret-service install --print --patience 0s").out
    #expect(printed.contains("[D-BUS Service]") && printed.contains(" --patience 0s\n"))
    try home.transcript("secret-service install --print --patience 0m", err: "--patience does not take '0m'", exit: 64)
  }

  @Test func `the service ends on a signal with 0, and with 75 where the bus goes away`() throws {
    let service = try SecretServiceHome()
    #expect(try service.end() == 0)
    try service.start("")
    service.bus.stop()
    #expect(try service.end(0) == 75)
    #expect(try service.home.content("service.err").contains("the bus has ended"))
    try service.home.transcript("secret-service run", err: "there is no session bus", exit: 74)
    try service.home.transcript(
      "secret-service status", out: try service.home.coffer("secret-service status").out, err: "no program answers", exit: 1)
  }

  @Test func `a second service is told who has the name, and may take it`() throws {
    let service = try SecretServiceHome()
    try service.home.transcript("secret-service run", err: "coffer, process", exit: 73)
    let replacing = try Child(
      ["secret-service", "run", "--replace", "--quiet"], environment: service.home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)])
    #expect(try service.end(0) == 0)
    kill(replacing.id, SIGTERM)
    #expect(try replacing.wait() == 0)
  }

  @Test func `share shows an item to programs, and takes it back`() throws {
    let service = try SecretServiceHome()
    let home = service.home
    try home.transcript("vault set github.com ada --quiet", in: "hunter2")
    try home.transcript("vault set gitlab.com ada --quiet", in: "other")
    let none = try service.program(["secret-tool", "lookup", "service", "github.com"])
    #expect(none.status == 1)
    try home.transcript("secret-service share github.com ada")
    #expect(try service.program(["secret-tool", "lookup", "service", "github.com", "username", "ada"]).out == "hunter2")
    #expect(try service.program(["secret-tool", "lookup", "service", "gitlab.com"]).status == 1)
    try home.transcript("secret-service share --all")
    #expect(try service.program(["secret-tool", "lookup", "server", "gitlab.com"]).out == "other")
    try home.transcript("secret-service share --all --undo")
    #expect(try service.program(["secret-tool", "lookup", "service", "github.com"]).status == 1)
    try home.transcript("secret-service share none.example", err: "no item to share", exit: 1)
    try home.transcript("secret-service share", err: "give a service, or --all", exit: 64)
  }

  @Test func `a program that asks for the passphrase unlocks for whoever waits`() throws {
    let service = try SecretServiceHome(starts: false, opens: false)
    let home = service.home
    try home.transcript(
      "vault slot add --key-file \(home.path)/key --new-passphrase-file \(try home.file("pass", "correct horse\n")) --quiet --min-strength 0"
    )
    let asked = home.path + "/asked"
    let program = try home.file("ask", "#!/bin/sh\necho x >>\(asked)\necho correct horse\n", mode: 0o700)
    try service.start("--prompt \(program)")
    let found = try service.program(["secret-tool", "lookup", "a", "b"])
    #expect(found.status == 1 && found.err.isEmpty, "\(found.err)")
    #expect(try home.content("asked") == "x\n")
  }

  @Test func `the agent is killed and the service too, and nothing that was stored is lost`() throws {
    let service = try SecretServiceHome()
    let home = service.home
    for number in 0..<3 {
      let stored = try service.program(["secret-tool", "store", "--label=\(number)", "n", "\(number)"], in: "secret \(number)")
      #expect(stored.status == 0, "\(stored.err)")
      if number < 2 {
        let status = try JSONSerialization.jsonObject(with: home.coffer("status --agent --json").bytes) as? [String: Any]
        kill(try #require(status?["process"] as? Int32), SIGKILL)
      } else {
        #expect(try service.end(SIGKILL) == 137)
        try service.start("")
      }
      #expect(try service.program(["secret-tool", "lookup", "n", "\(number)"]).out == "secret \(number)")
    }
    #expect(try service.program(["secret-tool", "lookup", "n", "0"]).out == "secret 0")
  }

  @Test func `clients that die at any moment leave a service that answers`() throws {
    let service = try SecretServiceHome()
    let home = service.home
    let first = try service.program(["secret-tool", "store", "--label=kept", "k", "v"], in: "kept")
    #expect(first.status == 0, "\(first.err)")
    let tool = "/usr/bin/secret-tool"
    let secret = try home.file("secret", "other")
    for delay in 0..<Campaign.size(short: 12, long: 400) {
      let child = try Child(
        ["store", "--label=x", "die", "\(delay)"], environment: home.environment,
        opening: [0: (secret, O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)], program: tool)
      usleep(UInt32(delay % 20) * 700)  // No event: any moment.
      kill(child.id, SIGKILL)
      _ = try child.wait()
    }
    #expect(try service.program(["secret-tool", "lookup", "k", "v"]).out == "kept")
    #expect(try home.coffer("vault verify --key-file \(home.path)/key").status == 0)
  }

  @Test func `without a vault programs are told so at once`() throws {
    let service = try SecretServiceHome()
    _ = try service.home.coffer("agent stop")
    for name in ["vault.sqlite", "vault.sqlite-wal", "vault.sqlite-shm"] { unlink("\(service.home.path)/data/\(name)") }
    let found = try service.program(["secret-tool", "lookup", "a", "b"])
    #expect(found.status == 1 && found.err.contains("there is no vault"), "\(found.err)")
  }

  @Test func `doctor says who answers programs that ask for secrets`() throws {
    let service = try SecretServiceHome()
    let home = service.home
    #expect(try home.coffer("doctor").out.contains("--password-store=gnome-libsecret"))
    home.environment["XDG_CURRENT_DESKTOP"] = "ubuntu:GNOME"
    #expect(try home.coffer("doctor").out.contains("ok       secret service"))
    _ = try service.end()
    #expect(try home.coffer("doctor").out.contains("no program answers requests for secrets"))
  }

  @Test func `without libsystemd the service says which package it needs`() throws {
    let home = try Home()
    _ = try home.file("lib/libsystemd.so.0", "no library")
    try home.transcript(
      "secret-service run", with: ["LD_LIBRARY_PATH": home.path + "/lib"], err: "install libsystemd0", exit: 77)
  }
}
