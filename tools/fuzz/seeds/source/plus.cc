struct ring { int other; struct { int deep; } inner; virtual int get(); };
int ring::get() { return other; }
