// hybrid: gives each prompt of OpenCode the few records that fit it. Written by `hybrid hook install --client opencode`.
import { spawn } from "node:child_process"

const COMMAND = ["hybrid"]
const TIMEOUT_MS = 2000

// Starts the command with the event on its standard input; whatever goes wrong, the answer is an empty text.
function ask(event, fields) {
  return new Promise((resolve) => {
    const give = (text) => { clearTimeout(timer); resolve(text) }
    let child, timer, out = ""
    try {
      child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", "run", "--client", "opencode", "--event", event],
        { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      timer = setTimeout(() => { child.kill(); give("") }, TIMEOUT_MS)
      child.on("error", () => give(""))
      child.stdin.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (part) => { out += part })
      child.on("close", () => give(textOf(out)))
      child.stdin.end(JSON.stringify({ ...fields, hook_event_name: event }))
    } catch { give("") }
  })
}

function textOf(out) {
  try { return JSON.parse(out).text ?? "" } catch { return "" }
}

export const Hybrid = async ({ directory }) => {
  const started = new Map() // session -> the answer to its start, given with its first prompt
  const children = new Set() // sessions of subagents: an agent wrote their prompts, no person
  const base = (sessionID) => ({
    session_id: sessionID, cwd: directory, ...(children.has(sessionID) ? { agent_id: sessionID } : {}),
  })
  const quietly = (hook) => async (...args) => { try { await hook(...args) } catch {} }
  return {
    event: quietly(async ({ event }) => {
      const info = event.properties?.info
      const id = event.properties?.sessionID ?? info?.id
      // A session with a parent is a subagent's: it begins with a task, not with a prompt.
      if (event.type.startsWith("session.") && info?.parentID) children.add(id)
      if (event.type === "session.created" && !info?.parentID) started.set(id, ask(event.type, { ...base(id), source: "startup" }))
      if (event.type === "session.idle") await ask(event.type, base(id))
      if (event.type === "session.deleted") { started.delete(id); await ask(event.type, base(id)); children.delete(id) }
    }),
    "chat.message": quietly(async ({ sessionID }, { message, parts }) => {
      const texts = parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      const start = started.get(sessionID)
      started.delete(sessionID)
      const given = await Promise.all([start ?? "", ask("chat.message", { ...base(sessionID), prompt })])
      const text = given.filter(Boolean).join("\n\n")
      if (!text || !texts.length) return
      const id = `prt_${texts[0].id.slice(4, 16)}zzhybrid${Math.random().toString(36).slice(2, 8).padEnd(6, "0")}`
      parts.push({ id, messageID: message.id, sessionID, type: "text", text, synthetic: true })
    }),
    "tool.execute.after": quietly(async ({ tool, sessionID, callID, args }, output) => {
      const done = tool === "task" ? output.output : { output: output.output, exit: output.metadata?.exit }
      const fields = { ...base(sessionID), tool_name: tool, tool_use_id: callID, tool_input: args, tool_response: done }
      const text = await ask("tool.execute.after", fields)
      if (text && typeof output.output === "string") output.output += `\n\n${text}`
    }),
    "experimental.session.compacting": quietly(async ({ sessionID }) => {
      await ask("experimental.session.compacting", base(sessionID))
    }),
  }
}
