-- What a person sees in Neovim with the configuration of docs/editors.md, as JSON.
local function wait(condition) return vim.wait(30000, condition, 20) end

local function diagnostics(buffer)
  wait(function() return #vim.diagnostic.get(buffer) > 0 end)
  return vim.tbl_map(function(each) return { each.lnum, each.code or vim.NIL } end, vim.diagnostic.get(buffer))
end

local function hover(line, column)
  vim.api.nvim_win_set_cursor(0, { line, column })
  local before = #vim.api.nvim_list_wins()
  vim.lsp.buf.hover()
  wait(function() return #vim.api.nvim_list_wins() > before end)
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if window ~= vim.api.nvim_get_current_win() then
      local rows = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
      vim.api.nvim_win_close(window, true)
      return table.concat(rows, '\n')
    end
  end
end

local function suppress()
  local before, titles = vim.api.nvim_buf_get_changedtick(0), {}
  local function take(action)
    table.insert(titles, action.title)
    return vim.startswith(action.title, 'Suppress')
  end
  vim.lsp.buf.code_action({ filter = take, apply = true })
  wait(function() return vim.api.nvim_buf_get_changedtick(0) > before end)
  return titles
end

local function hints(buffer)
  local found = {}
  wait(function()
    found = vim.lsp.inlay_hint.get({ bufnr = buffer })
    return #found > 0
  end)
  return vim.tbl_map(function(each) return { each.inlay_hint.position.line, each.inlay_hint.label } end, found)
end

local answer = {}
vim.cmd.edit('ring.h')
answer.findings = diagnostics(0)
answer.hover = hover(6, 16)
answer.titles = suppress()
answer.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
wait(function() return #vim.diagnostic.get(0) == 1 end)
answer.rest = diagnostics(0)
vim.cmd('edit! ring-fixed.h')
answer.hints = hints(vim.api.nvim_get_current_buf())
vim.cmd.edit('wrong/layoutlint.toml')
answer.mistakes = diagnostics(0)
io.stdout:write(vim.json.encode(answer))
vim.cmd.quitall({ bang = true })
