import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Folder } from './folder.ts'

/** Node has no datagram sockets in the file system; Perl is in every Debian. */
const LISTENER = `
  use Socket; $| = 1;
  socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die $!;
  bind($s, sockaddr_un($ARGV[0])) or die $!;
  print "listens\\n";
  while (defined recv($s, my $text, 65536, 0)) { $text =~ s/\\n/ /g; print "$text\\n" }
`

/** The socket of a service manager, as systemd has one (sd_notify(3)). */
export class NotifySocket implements AsyncDisposable {
  /** Messages, each in one line; without those by which a sender waits. */
  readonly received: string[] = []
  readonly #folder = new Folder()
  readonly #child = spawn('perl', ['-e', LISTENER, this.path], { stdio: ['ignore', 'pipe', 'inherit'] })

  get path(): string {
    return this.#folder.file('notify.sock')
  }

  static async open(): Promise<NotifySocket> {
    const socket = new NotifySocket()
    const lines = createInterface(socket.#child.stdout)
    await once(lines, 'line')
    lines.on('line', line => {
      if (!line.startsWith('BARRIER=')) socket.received.push(line.trim())
    })
    return socket
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.kill()
    await ended
    this.#folder[Symbol.dispose]()
  }
}
