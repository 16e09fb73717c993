// swift-tools-version: 6.2
import PackageDescription

// A service that reads its configuration and a secret through swift-configuration, and runs in a group with its stores:
// `.ci/configuration` builds and tests it.
// A separate package, so that nobody else fetches an HTTP server.
let package = Package(
  name: "configured-service",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "coffer", path: "../..", traits: ["Configuration", "Services"]),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
  ],
  targets: [
    .target(
      name: "Service",
      dependencies: [
        .product(name: "Coffer", package: "coffer"), .product(name: "CofferConfiguration", package: "coffer"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "ServiceTests",
      dependencies: [
        "Service", .product(name: "Coffer", package: "coffer"), .product(name: "CofferConfiguration", package: "coffer"),
        .product(name: "CofferServices", package: "coffer"), .product(name: "CofferTesting", package: "coffer"),
        .product(name: "CofferVault", package: "coffer"), .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "Logging", package: "swift-log"), .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "Hummingbird", package: "hummingbird"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
