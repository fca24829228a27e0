import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { type GatewayEnd, ScriptedGateway } from '../../agent/scripted-gateway.ts'
import { tcp } from '../../agent/support.ts'
import { program } from '../../support/program.ts'
import { RecordingSink, frame, uint32 } from '../../tunnel/support.ts'
import { recordOutput } from '../../support/leaks.ts'
import { isLongRun, PeakMemory, reportFigures } from './measurements.ts'
import { until } from '../../support/until.ts'
import { newFolder } from '../../support/folder.ts'

const ROUNDS = isLongRun ? 40 : 8
const CLIMB = '../../../canary'
const STREAM_TYPES = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 255, 0x7fff_ffff]
const GROWTH_KIB = 64 * 1024

/** Folders with something in them that a name with dots would reach, and where the agent is at home. */
class Home implements Disposable {
  readonly path = newFolder()
  readonly cwd = join(this.path, 'a/b/c')
  readonly #ca = join(newFolder(), 'ca.pem')

  constructor(ca: string) {
    for (const folder of ['a/b/c', 'home/.config', 'tmp'])
      mkdirSync(join(this.path, folder), { recursive: true })
    for (const file of ['canary', 'a/canary', 'home/canary'])
      writeFileSync(join(this.path, file), 'untouched')
    writeFileSync(this.#ca, ca)
  }

  environment(server: string): NodeJS.ProcessEnv {
    return {
      PATH: process.env['PATH'],
      HOME: join(this.path, 'home'),
      XDG_CONFIG_HOME: join(this.path, 'home/.config'),
      TMPDIR: join(this.path, 'tmp'),
      ADIT_SERVER_ADDR: server,
      ADIT_CA_FILE: this.#ca,
      ADIT_AUTHTOKEN: 'token',
    }
  }

  /** Every file and folder, with what is in it and when it was changed. */
  get content(): string[] {
    return readdirSync(this.path, { recursive: true, encoding: 'utf8' })
      .toSorted()
      .map(name => {
        const path = join(this.path, name)
        const { mtimeMs, mode } = statSync(path)
        return `${name} ${mode} ${mtimeMs} ${statSync(path).isFile() ? readFileSync(path, 'utf8') : ''}`
      })
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true })
    rmSync(join(this.#ca, '..'), { recursive: true })
  }
}

/** Everything a gateway can name, as a path to somewhere else. */
const climbing = {
  auth: () => ({
    Version: '3',
    ClientId: CLIMB,
    Extra: {
      Cookie: CLIMB,
      Region: '/etc/passwd',
      Version: `..\\..\\canary`,
      AccountName: CLIMB,
      Banner: `file://${CLIMB}`,
      Node: CLIMB,
      ConnectAddresses: [
        { Region: CLIMB, ServerAddr: CLIMB },
        { Region: '', ServerAddr: 'file:///etc/passwd' },
      ],
    },
  }),
  bind: () => ({ Id: CLIMB, URL: `tcp://${CLIMB}:1`, Proto: 'tcp', Opts: {}, Extra: { Token: CLIMB } }),
}

/** Opens streams of every type with names that climb; some of them no agent knows. */
async function openAll({ session }: GatewayEnd): Promise<void> {
  const request = {
    Id: CLIMB,
    Version: `${CLIMB}; touch canary`,
    PermitMajorVersion: true,
    Message: CLIMB,
    ErrorCode: CLIMB,
    URL: CLIMB,
  }
  const other = { ...request, Id: `${CLIMB}2` }
  for (const type of STREAM_TYPES)
    for (const body of [JSON.stringify(other), '{"__proto__":{"polluted":1}}', '\u0000'.repeat(1000)])
      await session.open(type, Buffer.from(body)).catch(() => undefined)
}

const giants: readonly Buffer[] = [
  Buffer.concat([frame(0x12, 2000, uint32(3)), frame(0x10, 2000, Buffer.alloc(16_000_000))]),
  Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0x12]), uint32(2002), randomBytes(300_000)]),
  frame(0x30, 0, Buffer.concat([uint32(1), uint32(0), Buffer.alloc(4_000_000, 'x')])),
  randomBytes(100_000),
]

/** The newest connection on which a tunnel was asked for. */
const boundEnd = (gateway: ScriptedGateway, after: number): GatewayEnd | undefined =>
  gateway.ends.slice(after).find(({ binds }) => binds.length > 0)

/** Whether the service behind the agent is reached over this connection. */
async function answers(newest: GatewayEnd | undefined): Promise<boolean> {
  const stream = await newest?.visit(CLIMB, '', { ClientAddr: CLIMB }).catch(() => undefined)
  if (stream === undefined) return false
  const ear = new RecordingSink()
  stream.attach(ear)
  await Promise.race([ear.whenEnded, ear.whenClosed])
  return ear.text === 'alive'
}

const isAlive = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null

suite('an agent process, connected to a hostile gateway', () => {
  test(`survives ${ROUNDS} rounds, keeps serving, and writes no files`, async context => {
    await using service = await tcp(socket => socket.end('alive'))
    await using gateway = await ScriptedGateway.start(climbing)
    using home = new Home(gateway.ca)
    const child = spawn(program, ['tcp', String(service.port), '--log', 'json'], {
      cwd: home.cwd,
      env: home.environment(gateway.address),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    recordOutput(child, ['tcp'])
    await using _ = { [Symbol.asyncDispose]: () => end(child) }
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (output += bytes.toString()))
    await until(() => boundEnd(gateway, 0) !== undefined || !isAlive(child), {
      what: 'the tunnel is asked for',
      withinMs: 60_000,
    })
    assert.ok(isAlive(child), output)
    const before = home.content
    using memory = new PeakMemory(child.pid ?? 0)
    for (let round = 0; round < ROUNDS; round++) {
      const seen = gateway.ends.length
      const present = boundEnd(gateway, seen - 1) ?? gateway.ends.at(-1)
      assert.ok(present)
      await openAll(present)
      present.socket.write(giants[round % giants.length] ?? Buffer.alloc(0))
      setTimeout(() => present.socket.destroy(), 300)
      await until(() => boundEnd(gateway, seen) !== undefined || !isAlive(child), {
        what: 'it has come back',
        withinMs: 60_000,
      })
      assert.ok(isAlive(child), output)
    }
    // The agent may still leave a connection, because the gateway asks it more than once to restart.
    await until(() => answers(boundEnd(gateway, gateway.ends.length - 1)), { what: 'its service answers' })
    reportFigures(context, {
      rounds: ROUNDS,
      connections: gateway.ends.length,
      'MiB more': memory.growth / 1024,
    })
    assert.ok(memory.growth < GROWTH_KIB, `it grew by ${memory.growth} KiB`)
    assert.deepEqual(home.content, before)
    child.kill('SIGTERM')
    const [code] = await once(child, 'close')
    assert.equal(code, 0)
    // Nor has it written on its way out.
    assert.deepEqual(home.content, before)
  })
})

async function end(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}
