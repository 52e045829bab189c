/**
 * The live connection: one WebSocket for all that this tab watches. After a loss every watch continues where it was,
 * so that no event is missed and none comes twice.
 */
import { reportHeard, reportLost } from "@/api/connection";
import { accessToken, renew, session } from "@/api/session";

export type Position = string | number | null;
type Handler = (data: unknown) => void;

interface Watch {
  topic: string;
  params: Record<string, unknown>;
  after: Position;
  handle: Handler;
}

interface Message {
  id?: string;
  type: "ready" | "data" | "error";
  after?: Position;
  data: unknown;
}

const FIRST_RETRY_MS = 500;
const MOST_RETRY_MS = 10_000;
const watches = new Map<string, Watch>();
let socket: WebSocket | null = null;
let next = 1;
let retryMs = FIRST_RETRY_MS;
let timer: ReturnType<typeof setTimeout> | null = null;

/** Watch a topic until the returned function is called. */
export function watchTopic(topic: string, params: Record<string, unknown>, handle: Handler): () => void {
  const id = String(next++);
  const watch: Watch = { topic, params, after: null, handle };
  watches.set(id, watch);
  if (socket?.readyState === WebSocket.OPEN) begin(id, watch);
  else connect();
  return () => {
    watches.delete(id);
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ op: "unwatch", id }));
    if (!watches.size) socket?.close();
  };
}

function begin(id: string, { topic, params, after }: Watch): void {
  socket?.send(JSON.stringify({ op: "watch", id, topic, ...params, ...(after === null ? {} : { after }) }));
}

function connect(): void {
  if (socket || timer || !watches.size) return;
  timer = setTimeout(() => void open(), 0);
}

async function open(): Promise<void> {
  const ticket = await getTicket();
  timer = null;
  if (!watches.size || socket) return;
  if (!ticket) return later();
  const opened = new WebSocket(`${location.origin.replace(/^http/, "ws")}/api/live?ticket=${ticket}`);
  socket = opened;
  opened.onopen = () => {
    retryMs = FIRST_RETRY_MS;
    reportHeard();
    for (const [id, watch] of watches) begin(id, watch);
  };
  opened.onmessage = ({ data }) => receive(JSON.parse(String(data)) as Message);
  opened.onclose = ({ reason }) => {
    socket = null;
    if (!watches.size) return;
    reportLost();
    if (reason === "signed out") void renew().then(later);
    else later();
  };
}

function later(): void {
  if (timer || !watches.size || session.state === "out") return;
  timer = setTimeout(() => void open(), retryMs);
  retryMs = Math.min(retryMs * 2, MOST_RETRY_MS);
}

async function getTicket(): Promise<string | null> {
  const token = await accessToken();
  if (!token) return null;
  try {
    const response = await fetch("/api/auth/ticket", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    return response.ok ? ((await response.json()) as { ticket: string }).ticket : null;
  } catch {
    reportLost();
    return null;
  }
}

function receive(message: Message): void {
  reportHeard();
  const watch = message.id === undefined ? undefined : watches.get(message.id);
  if (!watch) return;
  if (message.after !== undefined) watch.after = message.after;
  if (message.type === "data") watch.handle(message.data);
}
