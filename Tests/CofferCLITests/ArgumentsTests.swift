import ArgumentParser
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite struct ArgumentsTests {
  private func names(_ arguments: Arguments, _ command: any ParsableCommand.Type) -> Bool { arguments.command == command }
  private func arguments(_ words: String...) -> Arguments { Arguments((["coffer"] + words).map { ByteWord($0) }) }

  @Test func `the options of the program may stand before the command`() {
    #expect(arguments("--home", "d", "-q", "vault", "get", "x").words == ["get", "--home", "d", "-q", "--items", "x"])
    #expect(arguments("--home=d", "get", "x").words == ["get", "--home=d", "x"])
    #expect(arguments("get", "--home", "d").words == ["get", "--home", "d"])
    #expect(arguments("--version").words == ["--version"])
    #expect(arguments("--json", "set", "k", "1").words == ["set", "--json", "k", "1"])
  }

  @Test func `the command is the last word that names one, under any of its names`() {
    let get = arguments("--quiet", "vault", "cat", "web", "get")
    #expect(names(get, GetCommand.self) && get.namesLeaf && get.depth == 1)
    #expect(Array(get.rest) == ["--quiet", "--items", "web", "get"])
    #expect(names(arguments("vault"), VaultCommand.self) && !arguments("vault").namesLeaf)
    #expect(names(arguments("login"), LoginCommand.self))
    #expect(arguments("nothing").depth == 0 && names(arguments(), CofferCommand.self))
  }

  @Test func `errors are JSON where --json asks for it, and not behind --`() {
    #expect(arguments("get", "k", "--json").wantsJSON && arguments("nothing", "--json").wantsJSON)
    #expect(arguments("--json", "set", "k", "1").wantsJSON)
    #expect(!arguments("run", "--", "ls", "--json").wantsJSON)
  }

  @Test func `a secret among the words is refused, and one behind two hyphens is another program's`() {
    #expect(arguments("vault", "set", "a", "--password=x").refusal?.what.hasPrefix("there is no --password:") == true)
    #expect(arguments("run", "--", "p", "--password", "x").refusal == nil)
    #expect(arguments("ssh", "run", "--key", "x", "--", "p").refusal == nil)
    #expect(arguments("vault", "set", "a", "--key", "x").refusal?.what.hasPrefix("there is no --key:") == true)
  }

  @Test func `a word of macOS is refused in the domain's place alone`() {
    #expect(arguments("--quiet", "defaults", "read", "--", "-g").refusal?.status == .usage)
    #expect(arguments("defaults", "-currentHost", "read").refusal?.status == .usage)
    #expect(arguments("defaults", "read", "com.example.app", "-g").refusal == nil)
  }

  @Test func `the name of a credential helper stands for its command`() {
    let helper = Arguments(["/usr/bin/git-credential-coffer", "get"])
    #expect(names(helper, CredentialGitCommand.self) && Array(helper.rest) == ["get"])
    #expect(Arguments(["docker-credential-coffer", "--version"]).given == ["helper", "docker", "version"])
  }
}
