import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { userInfo } from 'node:os'
import { outputOf, RunningProgram, splitArguments } from '../processes.ts'
import { needTool } from '../tools.ts'
import { serverAndClient, type Contender, type Upstream } from './contender.ts'
import { freePort } from '../../../test/support/free-ports.ts'

/** `ssh -R` through an OpenSSH server of our own. */
export async function sshReverse(folder: string, upstream: Upstream): Promise<Contender> {
  const own = join(folder, 'ssh')
  mkdirSync(own, { recursive: true })
  for (const name of ['host', 'user'])
    await outputOf('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(own, name)])
  const [port, http, tcp] = [await freePort(), await freePort(), await freePort()]
  const config = `ListenAddress 127.0.0.1:${port}
HostKey ${own}/host
AuthorizedKeysFile ${own}/user.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
LogLevel ERROR
`
  writeFileSync(join(own, 'sshd.conf'), config)
  // sshd's privilege separation folder, which is missing without a service manager.
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const server = new RunningProgram(needTool('sshd'), ['-D', '-e', '-f', join(own, 'sshd.conf')])
  await server.listens(port)
  const line = `-N -F none -p ${port} -i ${own}/user
    -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ExitOnForwardFailure=yes
    -R 127.0.0.1:${http}:127.0.0.1:${upstream.http} -R 127.0.0.1:${tcp}:127.0.0.1:${upstream.tcp}
    ${userInfo().username}@127.0.0.1`
  const client = new RunningProgram(needTool('ssh'), splitArguments(line))
  await client.listens(tcp)
  const host = 'localhost'
  return {
    name: 'ssh -R',
    http: { port: http, host },
    tcp: { port: tcp, host },
    ...serverAndClient(server, client),
  }
}
