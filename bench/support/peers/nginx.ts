import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { outputOf, RunningProgram } from '../processes.ts'
import { needTool } from '../tools.ts'
import type { Contender, Upstream } from './contender.ts'
import { freePort } from '../../../test/support/free-ports.ts'

export const BULK_BYTES = 10 * 1024 * 1024

/** One worker, no logs, nothing on disk: as fast as possible. */
const frame = (folder: string, http: string): string => `
${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log crit;
events { worker_connections 16384; }
http {
  access_log off; sendfile on; tcp_nodelay on; keepalive_timeout 600s; keepalive_requests 1000000000;
  client_max_body_size 0; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  ${http}
}`

async function nginx(folder: string, http: string, port: number): Promise<RunningProgram> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, frame(folder, http))
  const running = new RunningProgram(needTool('nginx'), ['-p', folder, '-c', file])
  await running.listens(port)
  return running
}

interface NginxUpstream extends AsyncDisposable {
  readonly port: number
}

/**
 * The service behind every tunnel: `/` and `/small/...` a small response, `/bulk` ten megabytes, `/up` accepts as much.
 */
export async function upstream(folder: string): Promise<NginxUpstream> {
  const port = await freePort()
  const own = join(folder, 'upstream')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'bulk'), Buffer.alloc(BULK_BYTES, 'adit'))
  const running = await nginx(
    own,
    `upstream self { server 127.0.0.1:${port}; keepalive 64; }
  server {
    listen 127.0.0.1:${port}; root ${own};
    location = / { default_type text/plain; return 200 "Hello from the upstream.\\n"; }
    location /small/ { default_type text/plain; return 200 "Hello from the upstream.\\n"; }
    location = /up {
      # Answers when it has read everything: reading into memory comes before passing on.
      client_body_buffer_size 11m; proxy_pass http://self/; proxy_pass_request_body off; proxy_method GET;
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Content-Length "";
    }
  }`,
    port,
  )
  return { port, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
}

/** A certificate for the TLS listeners of the peers. */
export async function newCertificate(folder: string): Promise<{ key: string; certificate: string }> {
  mkdirSync(folder, { recursive: true })
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const options =
    '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost'
  await outputOf(needTool('openssl'), ['req', ...options.split(' '), '-keyout', key, '-out', certificate])
  return { key, certificate }
}

/** A plain reverse proxy: a tunnel with one hop. */
export async function nginxProxy(
  name: string,
  folder: string,
  { http: target, grpc }: Pick<Upstream, 'http' | 'grpc'>,
): Promise<Contender> {
  const [port, tlsPort, grpcPort] = [await freePort(), await freePort(), await freePort()]
  const own = join(folder, name.replaceAll(/\W+/g, '-'))
  const { key, certificate } = await newCertificate(own)
  const running = await nginx(
    own,
    `upstream next { server 127.0.0.1:${target}; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port}; listen 127.0.0.1:${tlsPort} ssl http2;
    ssl_certificate ${certificate}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_tickets off; ssl_session_cache off;
    location / {
      proxy_pass http://next; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
      proxy_request_buffering off; proxy_buffers 8 64k; proxy_max_temp_file_size 0;
    }
  }
  upstream calls { server 127.0.0.1:${grpc}; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${grpcPort} ssl http2;
    ssl_certificate ${certificate}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
    location / { grpc_pass grpc://calls; client_max_body_size 0; grpc_read_timeout 600s; }
  }`,
    port,
  )
  const host = 'localhost'
  return {
    name,
    http: { port, host },
    https: { port: tlsPort, host },
    http2: { port: tlsPort, host },
    grpc: { port: grpcPort, host, ca: certificate },
    pids: [running.pid],
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

/** Two of them in a row: the best case of a tunnel with two hops. */
export async function nginxTwice(folder: string, target: Upstream): Promise<Contender> {
  const inner = await nginxProxy('nginx inner', folder, target)
  const outer = await nginxProxy('nginx outer', folder, { ...target, http: inner.http?.port ?? 0 })
  return {
    name: 'nginx -> nginx',
    pids: [...inner.pids, ...outer.pids],
    ...(outer.http && { http: outer.http }),
    async [Symbol.asyncDispose]() {
      await outer[Symbol.asyncDispose]()
      await inner[Symbol.asyncDispose]()
    },
  }
}
