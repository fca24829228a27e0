import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { basename, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { WatchedProcess } from '../cli/agent-support.ts'
import { Folder } from '../support/folder.ts'
import { ownNode, root, run, ServingProgram, serverSettings, SystemCopy } from './support.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const scratch = new Folder()
const dist = join(scratch.path, 'dist')
const again = join(scratch.path, 'again')
const packaged = (name: string): string => join(dist, name)
const agentTgz = packaged(`adit-${version}.tgz`)
const executable = packaged(`adit-${version}-linux-x64`)
const READY = /Press Ctrl-C/

const build = (to: string, ...options: string[]) =>
  run(process.execPath, [join(root, 'scripts/package.ts'), '--fast', ...options, '--out', to])
/** The second build takes as long as all tests of the first: only a long run repeats the executable. */
const repeated = process.env['TEST_LONG'] === '1' ? [] : ['--npm']
const apiUrl = (serving: ServingProgram): string => /^ +API +(http\S+)$/m.exec(serving.output)?.[1] ?? ''

before(() => Promise.all([build(dist), build(again, ...repeated)]))
after(() => scratch[Symbol.dispose]())

/** The status of /readyz. */
const readiness = async (serving: ServingProgram): Promise<number> =>
  (await fetch(`${apiUrl(serving)}/readyz`)).status

/** Opens a tunnel with a command and fetches a page of a local service through it. */
async function assertTunnel(
  server: ServingProgram,
  agent: readonly string[],
  dataDir: string,
): Promise<void> {
  const service = createServer((_, response) => response.end('through the package')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const { port } = service.address() as AddressInfo
  await using tunnel = new ServingProgram(
    [...agent, 'http', String(port), '--name', 'packaged', '--log', 'text'],
    {
      ADIT_DATA_DIR: dataDir,
    },
  )
  await tunnel.prints(/url=http:\/\/packaged/)
  const [, http = ''] = /http (127\.0\.0\.1:\d+)/.exec(server.output) ?? []
  const { stdout } = await run('curl', ['-s', '-H', 'Host: packaged.adit.localhost', `http://${http}/`])
  service.close()
  assert.equal(stdout, 'through the package')
}

/** Starts an agent without a server, and loads its inspector. */
async function assertInspector(agent: readonly string[]): Promise<void> {
  const [program, ...args] = [...agent, 'start', '--none', '--web-addr', '127.0.0.1:0']
  const env = { ...process.env, ADIT_SERVER_ADDR: '127.0.0.1:1', ADIT_AUTHTOKEN: 'x' }
  await using started = new WatchedProcess(spawn(program, [...args, '--log-level', 'debug'], { env }))
  const [, url = ''] = await started.waitForOutput(/ msg=inspector url=(\S+)\n/)
  const page = await fetch(`${url}/inspect/http`)
  assert.match(await page.text(), /<title>Inspector · Adit<\/title>/)
  const script = await fetch(`${url}/ui/inspector/main.js`)
  assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
  assert.match(await script.text(), /from '\/ui\/element\.js'/)
  assert.equal(started.errorOutput, '')
}

test('two builds have the same bytes, which the checksums name', async () => {
  const sums = readFileSync(packaged('SHA256SUMS'), 'utf8')
  const linesAgain = readFileSync(join(again, 'SHA256SUMS'), 'utf8').trim().split('\n')
  assert.equal(linesAgain.length, repeated.length > 0 ? 2 : 5)
  for (const line of linesAgain) assert.ok(sums.includes(`${line}\n`), line)
  await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: dist })
  assert.equal(sums.trim().split('\n').length, 5)
})

suite('the npm package of the agent', () => {
  const project = join(scratch.path, 'project')
  const command = join(project, 'node_modules/adit/bin/adit.mjs')
  const npm = (...args: string[]) => run('npm', args, { cwd: project })

  before(async () => {
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{"name":"project","private":true,"type":"module"}')
    await npm('install', '--offline', '--no-audit', '--no-fund', agentTgz)
  })

  test('has at most 2 MB and no dependencies', () => {
    const installed = join(project, 'node_modules')
    const sizes = globSync(join(installed, 'adit/**')).map(path => statSync(path))
    const bytes = sizes.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0)
    assert.ok(bytes <= 2_097_152, `${bytes} bytes`)
    assert.ok(statSync(agentTgz).size <= 1_048_576)
    const listed = execFileSync('ls', [installed]).toString().trim().split('\n')
    assert.deepEqual(listed, ['adit'])
  })

  test('runs its command, installed for all projects, on the Node of the user', async () => {
    const prefix = join(scratch.path, 'global')
    await run('npm', ['install', '--global', '--offline', '--prefix', prefix, agentTgz])
    const { stdout } = await run(ownNode, [realpathSync(join(prefix, 'bin/adit')), '--version'])
    assert.equal(stdout, `${version}\n`)
  })

  test('runs with npx', async () => {
    const { stdout } = await run('npx', ['--offline', '--yes', `./${basename(agentTgz)}`, '--version'], {
      cwd: dist,
    })
    assert.equal(stdout.trim(), version)
  })

  test('names the package of the server for its commands', async () => {
    const reason = /For "adit serve", install the package "adit-server" in its place\./
    await assert.rejects(run(ownNode, [command, 'serve']), reason)
  })

  test('contains the inspector', () => assertInspector([ownNode, command]))

  test('opens a tunnel', async () => {
    const data = join(scratch.path, 'agent-data')
    await using server = new ServingProgram([executable, 'serve'], serverSettings(data))
    await server.prints(READY)
    await assertTunnel(server, [ownNode, command], data)
  })

  test('has declarations that a strict TypeScript project accepts', async () => {
    writeFileSync(
      join(project, 'program.ts'),
      `import { forward, type Tunnel } from 'adit'
import { createClient, ApiError, type Client } from 'adit/client'

const client: Client = createClient({ url: 'http://127.0.0.1:4600', token: 'x' })
async function program(): Promise<string> {
  const tunnel: Tunnel = await forward({ forwardTo: 3000 })
  for await (const policy of client.ip_policies.all()) console.log(policy.description)
  for await (const request of client.streams.requests({ host: 'a.test' })) console.log(request.status + 1)
  const created = await client.ip_policies.create({ description: 'office' })
  // @ts-expect-error An id is a text.
  await client.ip_policies.get(1)
  try { await client.ip_policies.delete(created.id) } catch (error) { if (error instanceof ApiError) console.log(error.code) }
  return tunnel.url
}
`,
    )
    const options = ['--strict', '--noEmit', '--target', 'es2023', '--lib', 'es2023,esnext.disposable,dom']
    const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node']
    const modules = ['--module', 'nodenext', '--ignoreConfig']
    await run(join(root, 'node_modules/.bin/tsc'), [...options, ...types, ...modules, 'program.ts'], {
      cwd: project,
    })
  })

  test('is a library and a client at run time', async () => {
    const script = `import { forward, connect } from 'adit'; import { createClient } from 'adit/client'
      console.log(typeof forward, typeof connect, typeof createClient({ url: 'http://x', token: 'y' }).ip_policies.all)`
    const { stdout } = await run(ownNode, ['--input-type=module', '--eval', script], { cwd: project })
    assert.equal(stdout, 'function function function\n')
  })
})

test('the npm package of the server brings its runtime, serves in workers and ends with its command', async () => {
  const prefix = join(scratch.path, 'server-global')
  await run('npm', [
    'install',
    '--global',
    '--prefer-offline',
    '--prefix',
    prefix,
    packaged(`adit-server-${version}.tgz`),
  ])
  const command = realpathSync(join(prefix, 'bin/adit'))
  assert.equal(basename(command), 'adit.mjs')
  const data = join(scratch.path, 'server-data')
  await using server = new ServingProgram([ownNode, command, 'serve'], {
    ...serverSettings(data),
    ADIT_WORKERS: '2',
  })
  await server.prints(READY)
  assert.equal(await readiness(server), 200)
  await assertTunnel(server, [ownNode, command], data)
  assert.equal(await server.end(), 0)
  await assert.rejects(readiness(server))
})

/** A root with nothing but the executable and the libraries that it needs. */
function bareRoot(path: string): void {
  for (const folder of ['lib64', 'lib/x86_64-linux-gnu', 'tmp', 'data', 'dev'])
    mkdirSync(join(path, folder), { recursive: true })
  const libraries = execFileSync('ldd', [executable])
    .toString()
    .matchAll(/(\/\S+) \(0x/g)
  for (const [, from = ''] of libraries) copyFileSync(realpathSync(from), join(path, from))
  copyFileSync(executable, join(path, 'adit'))
  chmodSync(join(path, 'adit'), 0o755)
  for (const device of ['null', 'urandom'])
    execFileSync('mknod', ['-m', '666', join(path, 'dev', device), 'c', '1', device === 'null' ? '3' : '9'])
}

test('the executable contains the inspector', () => assertInspector([executable]))

test('the executable runs the server and its workers in a root without Node', async () => {
  const bare = join(scratch.path, 'bare')
  bareRoot(bare)
  const { stdout } = await run('chroot', [bare, '/adit', '--version'])
  assert.equal(stdout, `${version}\n`)
  const settings = { ...serverSettings('/data'), ADIT_WORKERS: '2' }
  await using server = new ServingProgram(['chroot', bare, '/adit', 'serve'], settings)
  await server.prints(READY)
  assert.match(server.output, /^ {4}ADIT_.* adit http 3000$/m)
  assert.equal(await readiness(server), 200)
  await assertTunnel(server, ['chroot', bare, '/adit'], '/data')
  assert.equal(await server.end(), 0)
})

suite('the Debian package', () => {
  const deb = packaged(`adit_${version}_amd64.deb`)

  test('installs, serves as its own user, upgrades, and leaves nothing after a purge', async () => {
    using system = new SystemCopy()
    const inside = (path: string): string => join(system.path, path)
    // The package has no triggers. Those of others, for an index of all manuals of the system, would take half of the time.
    const dpkg = (...args: string[]) => system.run('dpkg', '--no-triggers', '--force-unsafe-io', ...args)
    copyFileSync(deb, inside('tmp/adit.deb'))
    await dpkg('-i', '/tmp/adit.deb')
    assert.equal(await system.run('adit', '--version'), `${version}\n`)
    assert.equal((statSync(inside('etc/adit/server.yml')).mode & 0o777).toString(8), '640')
    assert.match(await system.run('stat', '-c', '%U:%G %a', '/var/lib/adit'), /^adit:adit 700$/m)

    const unit = readFileSync(inside('lib/systemd/system/adit.service'), 'utf8')
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? []
    const asUser = ['chroot', system.path, 'setpriv', '--reuid=adit', '--regid=adit', '--clear-groups']
    {
      const { ADIT_DATA_DIR: _, ...settings } = serverSettings('')
      await using server = new ServingProgram([...asUser, ...command.split(' ')], settings)
      await server.prints(READY)
      assert.equal(await readiness(server), 200)
    }
    await dpkg('-i', '/tmp/adit.deb')
    assert.ok(existsSync(inside('var/lib/adit/adit.db')))
    await dpkg('-r', 'adit')
    assert.ok(existsSync(inside('etc/adit/server.yml')) && !existsSync(inside('usr/bin/adit')))
    await dpkg('-P', 'adit')
    for (const path of ['etc/adit', 'var/lib/adit', 'usr/share/man/man1/adit.1.gz'])
      assert.ok(!existsSync(inside(path)), path)
    await assert.rejects(system.run('getent', 'passwd', 'adit'))
  })

  test('has man pages and completions of every command, and both units', async () => {
    using folder = new Folder()
    await run('dpkg-deb', ['-x', deb, folder.path])
    const page = execFileSync('zcat', [join(folder.path, 'usr/share/man/man1/adit-serve.1.gz')]).toString()
    assert.match(page, /^\.TH ADIT\\-SERVE 1 /)
    assert.match(page, /ADIT_DATA_DIR/)
    for (const path of [
      'usr/share/man/man1/adit.1.gz',
      'usr/share/man/man1/adit-http.1.gz',
      'usr/share/bash-completion/completions/adit',
      'usr/share/zsh/vendor-completions/_adit',
      'usr/share/fish/vendor_completions.d/adit.fish',
      'lib/systemd/system/adit-agent.service',
      'usr/lib/sysctl.d/50-adit.conf',
    ])
      assert.ok(existsSync(join(folder.path, path)), path)
  })
})

test('the image runs as an ordinary user on a read-only root, and its health check works', async () => {
  const folder = join(scratch.path, 'image')
  const rootfs = join(folder, 'rootfs')
  mkdirSync(rootfs, { recursive: true })
  await run('tar', ['-xf', packaged(`adit-${version}-image.tar`), '-C', folder])
  const json = (path: string) => JSON.parse(readFileSync(join(folder, path), 'utf8'))
  const [{ Config, Layers }] = json('manifest.json') as [{ Config: string; Layers: string[] }]
  const { config } = json(Config) as {
    config: { User: string; Entrypoint: string[]; Cmd: string[]; Healthcheck: { Test: string[] } }
  }
  for (const layer of Layers) await run('tar', ['-xzf', join(folder, layer), '-C', rootfs])
  const [uid, gid] = config.User.split(':').map(Number)
  assert.ok(uid && gid)
  cpSync('/etc/hosts', join(rootfs, 'etc/hosts'))
  for (const path of ['dev', 'proc']) mkdirSync(join(rootfs, path))
  execFileSync('mount', ['--bind', rootfs, rootfs])
  try {
    execFileSync('mount', [
      '-t',
      'tmpfs',
      '-o',
      `uid=${uid},gid=${gid},mode=0700`,
      'tmpfs',
      join(rootfs, 'data'),
    ])
    execFileSync('mount', ['--bind', '/dev', join(rootfs, 'dev')])
    execFileSync('mount', ['-t', 'proc', 'proc', join(rootfs, 'proc')])
    execFileSync('mount', ['-o', 'remount,bind,ro', rootfs])
    const inside = ['chroot', `--userspec=${uid}:${gid}`, rootfs]
    await using server = new ServingProgram(
      [...inside, ...config.Entrypoint, ...config.Cmd],
      serverSettings('/data'),
    )
    await server.prints(READY)
    const [, ...check] = config.Healthcheck.Test
    const [program = '', ...args] = [...inside, ...check]
    const { stdout } = await run(program, args, {
      env: { PATH: process.env['PATH'], ADIT_DATA_DIR: '/data' },
    })
    assert.match(stdout, /^ready /)
    assert.equal(await server.end(), 0)
    await assert.rejects(run(program, args, { env: { PATH: process.env['PATH'], ADIT_DATA_DIR: '/data' } }), {
      code: 69,
    })
  } finally {
    execFileSync('umount', ['-R', rootfs])
  }
})
