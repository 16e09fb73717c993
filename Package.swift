// swift-tools-version: 6.2
import PackageDescription

/// Imports are internal unless a public signature needs them: each `public import` is then a statement about the API.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Paths, and errors of the system by name.
let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

/// Only the command line needs it, and who builds no command line does not fetch it.
let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["CommandLine"]))

let package = Package(
  name: "coffer",
  platforms: [.macOS(.v15)],
  products: [
    // What an application uses. Each of the others needs one import as well, and shows one thing whole.
    .library(name: "Coffer", targets: ["Coffer"]),
    .library(name: "CofferAgent", targets: ["CofferAgent"]),
    .library(name: "CofferClient", targets: ["CofferClient"]),
    .library(name: "CofferConfiguration", targets: ["CofferConfiguration"]),
    .library(name: "CofferDefaults", targets: ["CofferDefaults"]),
    .library(name: "CofferFoundation", targets: ["CofferFoundation"]),
    .library(name: "CofferLogin", targets: ["CofferLogin"]),
    .library(name: "CofferObservation", targets: ["CofferObservation"]),
    .library(name: "CofferPostgres", targets: ["CofferPostgres"]),
    .library(name: "CofferServices", targets: ["CofferServices"]),
    .library(name: "CofferStorage", targets: ["CofferStorage"]),
    .library(name: "CofferSync", targets: ["CofferSync"]),
    .library(name: "CofferTesting", targets: ["CofferTesting"]),
    .library(name: "CofferValues", targets: ["CofferValues"]),
    .library(name: "CofferVault", targets: ["CofferVault"]),
    .executable(name: "coffer", targets: ["CofferCLI"]),
  ],
  traits: [
    .trait(name: "CommandLine", description: "The program `coffer`; traits: [] leaves it out."),
    .trait(name: "Configuration", description: "What `CofferConfiguration` is for: a provider for swift-configuration."),
    .trait(name: "Services", description: "What `CofferServices` is for: a service with metrics and spans."),
    .default(enabledTraits: ["CommandLine"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // The C boundary: three module maps, nothing else imports C libraries.
    .systemLibrary(name: "CCofferSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .systemLibrary(name: "CCofferSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .target(name: "CCofferPlatform"),
    // Libraries that only some people use, each loaded when it is asked for: ZIP archives, the bus of a session and its ciphers,
    // HTTP. Beside them the commit, if whoever builds says it: COFFER_COMMIT=$(git rev-parse --short HEAD) swift build.
    .target(
      name: "CCofferLibraries",
      cSettings: Context.environment["COFFER_COMMIT"].map { commit in
        [.define("COFFER_COMMIT", to: "\"\(commit.filter(\.isHexDigit))\"")]
      } ?? []),
    // The pages of the catalogue that `coffer help` quotes.
    .target(name: "CCofferPages"),

    // The system as all targets see it: its calls, files, locks and watches, and the error that tells of them.
    .target(
      name: "CofferPlatform", dependencies: ["CCofferPlatform", systemPackage],
      swiftSettings: strict),

    .target(name: "CofferMemory", dependencies: ["CCofferSodium", "CofferPlatform"], swiftSettings: strict),
    // Closures bound to owners. A leaf: who uses nothing else links nothing else.
    .target(name: "CofferObservation", swiftSettings: strict),
    .target(
      name: "CofferStorage",
      dependencies: [
        "CofferMemory", "CofferObservation", "CofferPlatform",
      ],
      swiftSettings: strict),
    .target(
      name: "CofferDefaults",
      dependencies: ["CofferStorage", "CofferPlatform", systemPackage],
      swiftSettings: strict),
    // The bytes of format 1, the keys and all sealing: the trusted core, with CofferMemory.
    .target(
      name: "CofferVaultFormat",
      dependencies: ["CofferStorage", "CofferMemory", "CCofferSodium", "CofferPlatform"],
      swiftSettings: strict),
    // Sealed rows in a file of SQLite's, and where it lies.
    .target(
      name: "CofferVaultRows",
      dependencies: ["CofferVaultFormat", "CofferStorage", "CCofferSodium", "CCofferSQLite", "CofferPlatform", systemPackage],
      swiftSettings: strict),
    .target(
      name: "CofferVault",
      dependencies: [
        "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform", systemPackage,
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    // One vault on several machines, over a store that only keeps files: what lies there, and the programs that carry it.
    .target(
      name: "CofferSync",
      dependencies: [
        "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform", systemPackage,
      ],
      swiftSettings: strict),
    // Vaults and settings on a server of PostgreSQL's, which many machines share. libpq is loaded when a place names one.
    .target(
      name: "CofferPostgres",
      dependencies: [
        "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferDefaults", "CofferStorage", "CofferMemory",
        "CofferPlatform", "CCofferLibraries", systemPackage,
      ],
      swiftSettings: strict),
    // The agent's socket, messages and calls, and a client for programs that only ask. It links no library.
    .target(name: "CofferClient", dependencies: ["CCofferPlatform"], swiftSettings: strict),
    // Keys of SSH and identities of age: parsing, signatures, decryption. It does no I/O. Only the agent may import it.
    .target(
      name: "CofferKeys", dependencies: ["CofferMemory", "CofferPlatform", "CCofferSodium", "CCofferLibraries"],
      swiftSettings: strict),
    // Keeps a vault unlocked in a process of its own, and asks it.
    .target(
      name: "CofferAgent",
      dependencies: [
        "CofferClient", "CofferKeys", "CofferSync", "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferStorage",
        "CofferMemory", "CofferPlatform", systemPackage,
      ],
      swiftSettings: strict),
    .target(
      name: "CofferValues",
      dependencies: ["CofferPlatform", "CofferStorage", "CofferDefaults", systemPackage],
      swiftSettings: strict),
    .target(
      name: "Coffer",
      dependencies: [
        "CofferPlatform", "CofferStorage", "CofferDefaults", "CofferVault", "CofferVaultFormat", "CofferVaultRows",
        "CofferMemory", "CofferAgent", systemPackage,
      ],
      swiftSettings: strict),
    // org.freedesktop.secrets on the bus of a session, over the agent.
    .target(
      name: "CofferSecretService",
      dependencies: [
        "CofferAgent", "CofferVault", "CofferStorage", "CofferMemory", "CofferPlatform", "CCofferLibraries", systemPackage,
      ],
      swiftSettings: strict),
    // SSH's agent protocol over the agent. It holds no key.
    .target(
      name: "CofferSSH", dependencies: ["CofferAgent", "CofferClient", "CofferMemory", "CofferPlatform", systemPackage],
      swiftSettings: strict),
    // Logins at servers that speak OAuth 2, over libcurl.
    .target(
      name: "CofferLogin",
      dependencies: [
        "Coffer", "CofferStorage", "CofferMemory", "CofferPlatform", "CCofferPlatform", "CCofferLibraries", systemPackage,
      ],
      swiftSettings: strict),
    // Empty without its trait, so that nobody else fetches swift-configuration.
    .target(
      name: "CofferConfiguration",
      dependencies: [
        "CofferStorage", "CofferPlatform",
        .product(name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Configuration"])),
      ],
      swiftSettings: strict),
    // Empty without its trait too.
    .target(
      name: "CofferServices",
      dependencies: [
        "Coffer", "CofferVault", "CofferStorage", "CofferPlatform",
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Services"])),
        .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Services"])),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Services"])),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Services"])),
      ],
      swiftSettings: strict),
    // Terminals, files and other programs, as the command line meets them. It knows no command.
    .target(
      name: "CofferTerminal",
      dependencies: [
        "Coffer", "CofferMemory", "CofferPlatform", "CofferStorage", "CofferVault", systemPackage,
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    // Formats of values and of other programs' files, one-time codes and passwords.
    .target(
      name: "CofferFormats",
      dependencies: [
        "CofferTerminal", "Coffer", "CofferMemory", "CofferPlatform", "CofferStorage", "CofferVault", "CCofferLibraries",
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "CofferCLI",
      dependencies: [
        "Coffer", "CofferAgent", "CofferDefaults", "CofferFormats", "CofferLogin", "CofferMemory", "CofferPlatform",
        "CofferPostgres", "CofferSecretService", "CofferSSH", "CofferStorage", "CofferSync", "CofferTerminal", "CofferVault",
        "CofferVaultRows", "CCofferLibraries", "CCofferPages",
        argumentParser,
        systemPackage,
      ],
      swiftSettings: strict),
    // Foundation's own UserDefaults as a store, for programs that live beside code that uses it.
    .target(name: "CofferFoundation", dependencies: ["CofferPlatform", "CofferStorage"], swiftSettings: strict),
    // For the tests of programs that use Coffer, and of stores made elsewhere.
    .target(
      name: "CofferTesting",
      dependencies: [
        "Coffer", "CofferDefaults", "CofferValues", "CofferVault", "CofferPlatform", "CofferStorage", "CofferMemory",
        systemPackage,
      ],
      swiftSettings: strict),
    // A program of a user's, which the documentation shows. Not a product.
    .executableTarget(name: "CofferExample", dependencies: ["Coffer"], swiftSettings: strict),
    // A malloc that counts, for the benchmarks alone.
    .target(name: "CCofferAllocations"),
    // Ratios against peers in the same run: `swift run -c release CofferBenchmarks`.
    .executableTarget(
      name: "CofferBenchmarks",
      dependencies: [
        "Coffer", "CofferDefaults", "CofferPlatform", "CofferPostgres", "CofferStorage", "CofferValues", "CofferVault",
        "CCofferLibraries", "CCofferSodium", "CCofferSQLite", "CCofferAllocations",
        systemPackage, .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),

    // Bounds how many tests run at once, and lets an ordinary user look into a program that hides itself.
    .target(name: "CCofferTestSupport", path: "Tests/CCofferTestSupport"),
    // What tests share: tags and tiers, campaigns and their random choices.
    .target(
      name: "CofferTestSupport", dependencies: ["CofferPlatform", "CCofferTestSupport", systemPackage],
      path: "Tests/CofferTestSupport",
      swiftSettings: strict),
    .testTarget(
      name: "CofferPlatformTests",
      dependencies: ["CofferPlatform", "CofferTestSupport", systemPackage]),
    .testTarget(name: "CofferMemoryTests", dependencies: ["CofferMemory", "CofferTestSupport"], swiftSettings: strict),
    .testTarget(
      name: "CofferKeysTests",
      dependencies: ["CofferKeys", "CofferMemory", "CofferPlatform", "CofferTestSupport", systemPackage],
      swiftSettings: strict),
    .testTarget(
      name: "CofferStorageTests",
      dependencies: ["CofferPlatform", "CofferStorage", "CofferMemory", "CofferTestSupport", systemPackage]),
    .testTarget(
      name: "CofferVaultTests",
      dependencies: [
        "CofferVault", "CofferPlatform", "CofferStorage", "CofferMemory", "CCofferSQLite", "CCofferSodium", "TestTool",
        "CofferTestSupport",
        systemPackage,
      ]),
    // The other processes of all tests: they write, rotate, log in, and die at given points.
    .executableTarget(
      name: "TestTool",
      dependencies: [
        "Coffer", "CofferAgent", "CofferDefaults", "CofferPostgres", "CofferValues", "CofferVault", "CofferPlatform",
        "CofferStorage", "CofferMemory", "CCofferSQLite", "CCofferTestSupport",
        "CofferTestSupport", systemPackage,
      ],
      path: "Tests/TestTool", swiftSettings: strict),
    // A program that only asks an agent. A test looks at the libraries that it links.
    .executableTarget(name: "ClientTool", dependencies: ["CofferClient"], path: "Tests/ClientTool", swiftSettings: strict),
    // On real servers that the tests make for themselves.
    .testTarget(
      name: "CofferPostgresTests",
      dependencies: [
        "CofferPostgres", "CofferTesting", "Coffer", "CofferDefaults", "CofferVault", "CofferPlatform", "CofferStorage",
        "CofferMemory", "TestTool", "CofferTestSupport", systemPackage,
      ]),
    .testTarget(
      name: "TransactionTests",
      dependencies: [
        "CofferPostgres", "CofferVault", "CofferPlatform", "CofferStorage", "CofferMemory", "TestTool", "CofferTestSupport",
        systemPackage,
      ]),
    .testTarget(
      name: "CofferSyncTests",
      dependencies: [
        "CofferSync", "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferPlatform", "CofferStorage", "CofferMemory",
        "CofferTestSupport", systemPackage,
      ],
      // Programs of Python's.
      exclude: ["Servers"],
      swiftSettings: strict),
    // Compiles programs that must not compile, against the modules of this build.
    .testTarget(
      name: "ForbiddenProgramTests",
      dependencies: [
        "Coffer", "CofferAgent", "CofferClient", "CofferDefaults", "CofferFoundation", "CofferMemory", "CofferPostgres",
        "CofferPlatform", "CofferStorage",
        "CofferTesting", "CofferTestSupport", "CofferValues", "CofferVault",
      ]),
    // The five systems, row by row, on the real stores.
    .testTarget(
      name: "CofferValuesTests",
      dependencies: [
        "Coffer", "CofferDefaults", "CofferPlatform", "CofferStorage", "CofferValues", "TestTool", "CofferTestSupport",
      ],
      swiftSettings: strict),
    .testTarget(name: "ArchitectureTests", dependencies: ["CofferTestSupport"]),
    .testTarget(
      name: "CofferDefaultsTests",
      dependencies: [
        "CofferDefaults", "CofferPlatform", "CofferStorage", "TestTool", "CofferTestSupport",
        systemPackage,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CofferAgentTests",
      dependencies: [
        "CofferClient", "CofferAgent", "CofferKeys", "CofferPostgres", "CofferSync", "CofferTesting", "Coffer", "ClientTool",
        "CofferVault", "CofferPlatform", "CofferStorage", "CofferMemory",
        "CofferTestSupport",
        systemPackage,
      ]),
    .testTarget(
      name: "CofferSecretServiceTests",
      dependencies: [
        "CofferSecretService", "CofferAgent", "CofferVault", "CofferPlatform", "CofferStorage", "CofferMemory",
        "CCofferLibraries",
        "CofferTestSupport",
        systemPackage,
      ]),
    .testTarget(
      name: "CofferSSHTests",
      dependencies: [
        "CofferSSH", "CofferAgent", "CofferClient", "CofferVault", "CofferPlatform", "CofferStorage", "CofferMemory",
        "CofferTestSupport", systemPackage,
      ],
      // OpenSSH's own tests against another agent.
      exclude: ["openssh"],
      swiftSettings: strict),
    .testTarget(
      name: "CofferLoginTests",
      dependencies: [
        "CofferLogin", "Coffer", "CofferPlatform", "CofferStorage", "CofferMemory", "CofferTestSupport",
      ],
      // A program of Python's.
      exclude: ["Servers"],
      swiftSettings: strict),
    .testTarget(
      name: "CofferTests",
      dependencies: [
        "Coffer", "CofferDefaults", "CofferPlatform", "CofferStorage", "CofferValues", "CofferVault", "CofferMemory", "TestTool",
        "CofferTestSupport", systemPackage,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CofferTestingTests",
      dependencies: [
        "CofferTesting", "CofferFoundation", "Coffer", "CofferDefaults", "CofferPlatform", "CofferStorage", "CofferValues",
        "CofferVault",
        "CofferTestSupport", systemPackage,
      ],
      swiftSettings: strict),
    // What reads bytes of others, each behind one function, on the inputs of Fixtures/Fuzz. `.ci/fuzz` builds it for libFuzzer
    // too.
    .testTarget(
      name: "CofferParserTests",
      dependencies: [
        "CofferCLI", "CofferFormats", "CofferTerminal", "CofferSecretService", "CofferLogin", "CofferPostgres", "Coffer",
        "CofferAgent", "CofferClient", "CofferDefaults", "CofferKeys", "CofferSSH", "CofferSync",
        "CofferVault", "CofferPlatform", "CofferStorage", "CofferMemory", systemPackage,
      ]),
    .testTarget(
      name: "CofferCLITests",
      dependencies: [
        "CofferCLI", "CofferFormats", "CofferTerminal", "CofferExample", "Coffer", "CofferAgent", "CofferClient",
        "CofferVault", "CofferPlatform", "CofferStorage", "CofferMemory",
        "TestTool", "CofferTestSupport",
        argumentParser,
        systemPackage,
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
