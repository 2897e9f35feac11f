# Compiled as it is: plain Python takes twice as long.
